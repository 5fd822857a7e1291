//! Long lists, which a server divides into pages.

use kube::api::{Api, ListParams};

use super::Object;

/// The objects of all pages of a list.
pub async fn pages(api: &Api<Object>, mut params: ListParams) -> Result<Vec<Object>, kube::Error> {
    let mut all = Vec::new();
    loop {
        let page = api.list(&params).await?;
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(all),
        }
    }
}
