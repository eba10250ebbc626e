use super::*;
use proptest::prelude::*;

const BODY: &str = "{ \"a\" : 1.0 ,\n\t\"b\":[ 1e2 , \"\\u00e9\" ,{} ], \"c\":{}, \"d\\n\": null }";

fn top(doc: &str) -> Container<'_> {
    Container::object(doc, doc).unwrap()
}

fn members(doc: &str, removed: &[&str], set: &[(&str, &str)]) -> String {
    let set: Vec<_> = set.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    let mut edits = Edits::new(doc);
    edits.members(&top(doc), removed, &set);
    edits.apply()
}

#[test]
fn members_are_found_where_they_lie() {
    let body = top(BODY);
    let names: Vec<_> = body.items.iter().map(|item| item.name.as_ref()).collect();
    assert_eq!(names, ["a", "b", "c", "d\n"]);
    assert_eq!(body.get("a").unwrap().value, "1.0");
    assert_eq!(body.value("d\n"), None);
    assert_eq!(body.children("b").unwrap().items[1].value, "\"\\u00e9\"");
    assert!(body.child("b").is_none());
    assert!(body.child("c").unwrap().items.is_empty());
}

#[test]
fn edits_touch_nothing_else() {
    let with = |change: &dyn Fn(&str) -> String| change(BODY);
    assert_eq!(members(BODY, &[], &[("a", "2")]), with(&|b| b.replacen("1.0", "2", 1)));
    assert_eq!(members(BODY, &["a"], &[]), with(&|b| b.replacen("\"a\" : 1.0 ,\n\t", "", 1)));
    assert_eq!(
        members(BODY, &["c"], &[("e", "5")]),
        with(&|b| b.replacen(", \"c\":{}, \"d\\n\": null", ", \"d\\n\": null,\"e\":5", 1))
    );
    assert_eq!(members(BODY, &["a", "b", "c", "d\n"], &[("e", "5"), ("f", "6")]), "{ \"e\":5,\"f\":6 }");
    assert_eq!(members("{}", &["a"], &[]), "{}");
    assert_eq!(members(" { } ", &[], &[("a\"", "1")]), " {\"a\\\"\":1 } ");
    assert_eq!(members("{\"a\":1,\"a\":2}", &[], &[("a", "3")]), "{\"a\":3,\"a\":3}");
}

#[test]
fn repeated_members_are_known_and_the_last_one_counts() {
    let body = top("{\"a\":1,\"\\u0061\":2,\"b\":3}");
    assert_eq!(body.value("a"), Some("2"));
    assert!(body.is_repeated("a") && !body.is_repeated("b"));
}

#[test]
fn half_a_surrogate_in_a_key_does_no_harm() {
    let doc = r#"{"\ud83d":1,"a":2}"#;
    assert_eq!(members(doc, &["a"], &[]), r#"{"\ud83d":1}"#);
}

#[test]
fn deep_nesting_costs_no_stack() {
    let deep = format!("{{\"a\":{}{},\"b\":1}}", "[".repeat(500_000), "]".repeat(500_000));
    assert_eq!(members(&deep, &[], &[("b", "2")]), deep.replace("\"b\":1", "\"b\":2"));
    let open = "[".repeat(1000);
    assert!(Container::array(&open, &open).is_err());
}

#[test]
fn what_is_not_json_is_refused() {
    for bad in ["", "{", "[1]", "{\"a\"}", "{} {}", "{\"a\":1,}", "{1:2}", "nul"] {
        assert!(Container::object(bad, bad).is_err(), "{bad}");
    }
    assert!(Container::array("[1,]", "[1,]").is_err());
}

/// A JSON text with odd white space.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-1.50e+3".to_owned()),
        Just("\"\\u00e9\\\"}]\"".to_owned()),
        Just("{}".to_owned()),
        Just("[ ]".to_owned()),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|all| format!("[ {}\n]", all.join(" ,"))),
            object(inner, 0..4),
        ]
    })
}

fn object(
    value: impl Strategy<Value = String>,
    size: std::ops::Range<usize>,
) -> impl Strategy<Value = String> {
    prop::collection::vec(("[a-d]", value, "[ \t\n]{0,2}"), size).prop_map(|all| {
        let all: Vec<_> =
            all.iter().map(|(key, value, gap)| format!("{gap}\"{key}\"{gap}:{value}{gap}")).collect();
        format!("{{{}}}", all.join(","))
    })
}

proptest! {
    #[test]
    fn a_set_value_is_the_only_change(doc in object(json(), 0..6), key in "[a-e]") {
        let edited = members(&doc, &[], &[(&key, "\"NEW\"")]);
        let (before, after) = (top(&doc), top(&edited));
        prop_assert_eq!(after.value(&key), Some("\"NEW\""));
        if before.get(&key).is_some() {
            // Cutting the new values out of one and the old out of the other leaves the same bytes.
            let cut = |body: &Container<'_>| {
                let mut edits = Edits::new(body.doc());
                body.items.iter().filter(|item| item.name == key.as_str()).for_each(|item| edits.replace(item, ""));
                edits.apply()
            };
            prop_assert_eq!(cut(&before), cut(&after));
        } else {
            let added = format!("{}\"{key}\":\"NEW\"", if before.items.is_empty() { "" } else { "," });
            prop_assert_eq!(edited.replacen(&added, "", 1), doc);
        }
    }

    #[test]
    fn removal_keeps_the_rest(doc in object(json(), 0..6), keys in prop::collection::vec("[a-e]", 0..3)) {
        let removed: Vec<&str> = keys.iter().map(String::as_str).collect();
        let edited = members(&doc, &removed, &[]);
        let left: Vec<_> = top(&doc).items.into_iter().filter(|item| !removed.contains(&item.name.as_ref())).collect();
        let after = top(&edited);
        prop_assert_eq!(after.items.len(), left.len());
        for (a, b) in after.items.iter().zip(&left) {
            prop_assert_eq!((&a.name, a.value), (&b.name, b.value));
        }
    }

    #[test]
    fn appending_keeps_every_earlier_byte(
        all in prop::collection::vec((json(), any::<bool>()), 0..6),
        new in prop::collection::vec(json(), 0..3),
    ) {
        let doc = format!("[{}]", all.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(" , "));
        let array = Container::array(&doc, &doc).unwrap();
        let mut edits = Edits::new(&doc);
        edits.elements(&array, &|_| false, &new);
        let edited = edits.apply();
        prop_assert!(edited.starts_with(doc.get(..array.end()).unwrap()));
        let mut edits = Edits::new(&doc);
        edits.elements(&array, &|i| all[i].1, &new);
        let edited = edits.apply();
        let expected = all.iter().filter(|(_, gone)| !gone).map(|(text, _)| text).chain(&new);
        let after = Container::array(&edited, &edited).unwrap();
        prop_assert!(after.items.iter().map(|item| item.value).eq(expected.map(String::as_str)));
    }

    #[test]
    fn never_panics(doc in "[{}\\[\\]:,\"a1 \\\\]{0,30}") {
        if let Ok(object) = Container::object(&doc, &doc) {
            prop_assert!(object.items.iter().all(|item| doc.get(item.span()) == Some(item.value)));
        }
    }
}
