//! Names that Kubernetes accepts.

/// Whether a text is a DNS label: lower-case letters, digits and, inside, `-`; at most 63
/// characters.
pub fn is_dns_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Whether a text is DNS labels separated by dots, at most 253 characters.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// Whether a text can be an API group; the core group is empty.
pub fn is_api_group(text: &str) -> bool {
    text.is_empty() || is_dns_subdomain(text)
}
