//! Base64, and the keys of JSON patches.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

use super::{Arguments, Result};
use crate::value::Val;

/// Reads texts with and without padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) fn base64_encode(call: &mut Arguments<'_>) -> Result<Val> {
    let bytes = call.args[0].as_bytes().ok_or_else(|| call.mismatch())?;
    call.meter.bytes(bytes.len() * 4 / 3)?;
    Ok(Val::from(STANDARD.encode(bytes)))
}

pub(super) fn base64_decode(call: &mut Arguments<'_>) -> Result<Val> {
    // Go ignores line breaks.
    let text = call.text(0)?.replace(['\r', '\n'], "");
    LENIENT
        .decode(text)
        .map(|bytes| Val::bytes(&bytes))
        .map_err(|_| call.invalid("the string is not base64"))
}

pub(super) fn escape_key(call: &mut Arguments<'_>) -> Result<Val> {
    let key = call.text(0)?;
    call.meter.bytes(key.len() * 2)?;
    Ok(Val::from(key.replace('~', "~0").replace('/', "~1")))
}
