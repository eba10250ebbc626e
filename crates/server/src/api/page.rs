//! `page` and `limit` of a list.

use domain::limits::{PAGE_DEFAULT, PAGE_MAX};
use store::PageRequest;

use crate::http::Fields;

/// Reads both: `page` from 1 (1), `limit` 1 to 200 (50).
pub(super) fn page(query: &mut Fields) -> PageRequest {
    let page = query.whole("page", 1..=u64::from(u32::MAX)).unwrap_or(1);
    let limit = query.whole("limit", 1..=u64::from(PAGE_MAX)).unwrap_or(u64::from(PAGE_DEFAULT));
    PageRequest {
        page: u32::try_from(page).unwrap_or(1),
        limit: u32::try_from(limit).unwrap_or(PAGE_DEFAULT),
    }
}
