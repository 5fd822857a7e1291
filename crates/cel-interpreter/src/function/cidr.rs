//! Networks: `10.0.0.0/8`.

use std::fmt;
use std::net::IpAddr;

use super::{Arguments, Result, address};
use crate::types::Extension;
use crate::value::Val;

/// An address and the length of the prefix that is its network.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    pub(super) address: IpAddr,
    length: u8,
}

impl Cidr {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.rsplit_once('/')?;
        let address = address::parse(address)?;
        let canonical = length == "0" || !length.starts_with(['0', '+']);
        let length: u8 = length.parse().ok().filter(|_| canonical)?;
        let max = if address.is_ipv4() { 32 } else { 128 };
        (length <= max).then_some(Self { address, length })
    }

    /// The bits of the prefix of an address, shifted to the right.
    fn prefix(self, address: IpAddr) -> u128 {
        let (bits, width) = bits(address);
        // A shift by the whole width would overflow.
        bits.checked_shr(width - u32::from(self.length))
            .unwrap_or(0)
    }

    fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && self.prefix(address) == self.prefix(self.address)
    }

    fn masked(self) -> Self {
        let (bits, width) = bits(self.address);
        let free = width - u32::from(self.length);
        let kept = bits.checked_shr(free).unwrap_or(0);
        let bits = kept.checked_shl(free).unwrap_or(0);
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4((bits as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(bits.into()),
        };
        Self { address, ..self }
    }
}

/// The bits of an address, and how many there are.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

pub(super) fn cidr(call: &mut Arguments<'_>) -> Result<Val> {
    parsed(call, 0).map(|cidr| Val::extension(Extension::Cidr(cidr)))
}

fn parsed(call: &Arguments<'_>, n: usize) -> Result<Cidr> {
    let cidr = Cidr::parse(call.text(n)?);
    cidr.ok_or_else(|| call.invalid("the string is not a CIDR"))
}

pub(super) fn is_cidr(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(Cidr::parse(call.text(0)?).is_some()))
}

pub(super) fn is_v4(call: &mut Arguments<'_>) -> Result<Val> {
    let cidr = Cidr::parse(call.text(0)?);
    Ok(Val::Bool(cidr.is_some_and(|cidr| cidr.address.is_ipv4())))
}

pub(super) fn is_v6(call: &mut Arguments<'_>) -> Result<Val> {
    let cidr = Cidr::parse(call.text(0)?);
    Ok(Val::Bool(cidr.is_some_and(|cidr| cidr.address.is_ipv6())))
}

pub(super) fn contains_ip(call: &mut Arguments<'_>) -> Result<Val> {
    let cidr = receiver(call)?;
    let address = match call.extension(1) {
        Some(Extension::Ip(address)) => *address,
        _ => address::parse(call.text(1)?)
            .ok_or_else(|| call.invalid("the string is not an IP address"))?,
    };
    Ok(Val::Bool(cidr.contains(address)))
}

pub(super) fn contains_cidr(call: &mut Arguments<'_>) -> Result<Val> {
    let cidr = receiver(call)?;
    let other = match call.extension(1) {
        Some(Extension::Cidr(other)) => *other,
        _ => parsed(call, 1)?,
    };
    let contained = cidr.length <= other.length && cidr.contains(other.address);
    Ok(Val::Bool(contained))
}

pub(super) fn prefix_length(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Int(receiver(call)?.length.into()))
}

pub(super) fn masked(call: &mut Arguments<'_>) -> Result<Val> {
    let masked = receiver(call)?.masked();
    Ok(Val::extension(Extension::Cidr(masked)))
}

fn receiver(call: &Arguments<'_>) -> Result<Cidr> {
    match call.extension(0) {
        Some(Extension::Cidr(cidr)) => Ok(*cidr),
        _ => Err(call.mismatch()),
    }
}
