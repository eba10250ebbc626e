use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Everything that a framer says of these pieces.
fn frames<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<Element>, Bytes), Fault> {
    let mut framer = Framer::new(1 << 16);
    let mut all = Vec::new();
    for piece in pieces {
        framer.push(piece);
        while let Some(element) = framer.next()? {
            all.push(element);
        }
    }
    Ok((all, framer.finish()?))
}

fn bytes((elements, tail): &(Vec<Element>, Bytes)) -> Vec<u8> {
    let parts = elements.iter().flat_map(|element| [element.lead.clone(), element.text.clone()]);
    parts.chain([tail.clone()]).collect::<Vec<_>>().concat()
}

const TEXT: &str =
    "\u{feff} [{\"a\": \"}\\\"]{那\\\\\", \"b\": [{}, \"🙂\"]}\n,\r\n{}\n,\r\n{\"c\":{\"d\":1}}\n]\n";

#[test]
fn every_cut_gives_the_same_elements_and_every_byte() {
    let whole = frames([TEXT.as_bytes()]).unwrap();
    let texts: Vec<_> = whole.0.iter().map(|element| element.text.clone()).collect();
    assert_eq!(texts, ["{\"a\": \"}\\\"]{那\\\\\", \"b\": [{}, \"🙂\"]}", "{}", "{\"c\":{\"d\":1}}"]);
    assert_eq!(bytes(&whole), TEXT.as_bytes());
    for at in 0..TEXT.len() {
        let (a, b) = TEXT.as_bytes().split_at(at);
        assert_eq!(frames([a, b]).unwrap(), whole, "cut at {at}");
    }
    for size in [1, 2, 3, 5] {
        assert_eq!(frames(TEXT.as_bytes().chunks(size)).unwrap(), whole);
    }
}

#[test]
fn what_is_no_array_of_objects_is_refused_and_what_ends_early_is_cut() {
    for text in ["{}", "x", "[7]", "[\"a\"]", "[{}]x", "[[]]", "[}"] {
        assert!(matches!(frames([text.as_bytes()]), Err(Fault::Unreadable(_))), "{text}");
    }
    for text in ["", " ", "[", "[{}", "[{\"a\":\"]", "[{}\n,"] {
        assert_eq!(frames([text.as_bytes()]), Err(Fault::Truncated), "{text}");
    }
    assert_eq!(frames([b"[]".as_slice()]).unwrap().0, []);
}

#[test]
fn no_element_is_larger_than_the_cap() {
    let mut framer = Framer::new(10);
    framer.push(b"[{\"a\":1}");
    assert!(framer.next().unwrap().is_some());
    framer.push(b",{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_eq!(framer.next(), Err(Fault::TooLarge));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<i64>().prop_map(Value::from),
        "[\"\\\\{}\\[\\]é🙂a]{0,6}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a\"}é]{0,3}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_array_of_objects_comes_out_as_it_was(values in prop::collection::vec(value(), 0..5), size in 1usize..20) {
        let objects: Vec<Value> = values.into_iter().map(|value| json!({"v": value})).collect();
        let text = serde_json::to_string_pretty(&objects).unwrap();
        let seen = frames(text.as_bytes().chunks(size)).unwrap();
        prop_assert_eq!(bytes(&seen), text.as_bytes());
        let read: Vec<Value> = seen.0.iter().map(|element| serde_json::from_slice(&element.text).unwrap()).collect();
        prop_assert_eq!(read, objects);
    }

    #[test]
    fn random_bytes_do_no_harm(pieces in prop::collection::vec("[\\[\\]{}\",:\\\\a é]{0,8}", 0..8)) {
        let whole = pieces.concat();
        let pieces = frames(pieces.iter().map(String::as_bytes));
        prop_assert_eq!(pieces, frames([whole.as_bytes()]));
    }
}
