//! `docs/rest.md` names every route and every error code; what is not there cannot be found by a user.

use server::{ErrorCode, route_list};

#[test]
fn the_reference_is_whole() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rest.md")).unwrap();
    for route in route_list() {
        let line = format!("`{} {}`", route.method, route.path);
        assert!(text.contains(&line), "{line} is not in docs/rest.md");
    }
    for code in ErrorCode::ALL {
        let line = format!("| `{}` | {} | {} |", code.as_str(), code.status().as_u16(), code.doc());
        assert!(text.contains(&line), "docs/rest.md lacks: {line}");
    }
}
