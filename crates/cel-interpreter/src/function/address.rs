//! IP addresses.

use std::net::IpAddr;

use super::{Arguments, Result};
use crate::types::Extension;
use crate::value::Val;

/// Reads an address. As in Kubernetes, IPv4 addresses in the form of IPv6 are not allowed.
pub(super) fn parse(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    let mapped = matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
    (!mapped).then_some(address)
}

/// `ip(text)`, or the address of a network: `cidr.ip()`.
pub(super) fn ip(call: &mut Arguments<'_>) -> Result<Val> {
    let address = match call.extension(0) {
        Some(Extension::Cidr(cidr)) if call.method => cidr.address,
        _ if call.method => return Err(call.mismatch()),
        _ => parsed(call)?,
    };
    Ok(Val::extension(Extension::Ip(address)))
}

fn parsed(call: &Arguments<'_>) -> Result<IpAddr> {
    let address = parse(call.text(0)?);
    address.ok_or_else(|| call.invalid("the string is not an IP address"))
}

pub(super) fn is_ip(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(parse(call.text(0)?).is_some()))
}

pub(super) fn is_v4(call: &mut Arguments<'_>) -> Result<Val> {
    let address = parse(call.text(0)?);
    Ok(Val::Bool(address.is_some_and(|address| address.is_ipv4())))
}

pub(super) fn is_v6(call: &mut Arguments<'_>) -> Result<Val> {
    let address = parse(call.text(0)?);
    Ok(Val::Bool(address.is_some_and(|address| address.is_ipv6())))
}

pub(super) fn is_canonical(call: &mut Arguments<'_>) -> Result<Val> {
    let address = parsed(call)?;
    Ok(Val::Bool(address.to_string() == call.text(0)?))
}

pub(super) fn family(call: &mut Arguments<'_>) -> Result<Val> {
    let family = if receiver(call)?.is_ipv4() { 4 } else { 6 };
    Ok(Val::Int(family))
}

pub(super) fn is_unspecified(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(receiver(call)?.is_unspecified()))
}

pub(super) fn is_loopback(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(receiver(call)?.is_loopback()))
}

pub(super) fn is_link_local_multicast(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(match receiver(call)? {
        IpAddr::V4(v4) => v4.octets().starts_with(&[224, 0, 0]),
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    }))
}

pub(super) fn is_link_local_unicast(call: &mut Arguments<'_>) -> Result<Val> {
    Ok(Val::Bool(link_local(receiver(call)?)))
}

/// As in Go, private addresses are global, too.
pub(super) fn is_global_unicast(call: &mut Arguments<'_>) -> Result<Val> {
    let address = receiver(call)?;
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    let special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
    Ok(Val::Bool(!broadcast && !special && !link_local(address)))
}

fn link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

fn receiver(call: &Arguments<'_>) -> Result<IpAddr> {
    match call.extension(0) {
        Some(Extension::Ip(address)) => Ok(*address),
        _ => Err(call.mismatch()),
    }
}
