//! Finds the id of an answer while its bytes pass by: `id` of a plain object, or that of a stream's event's `response` or `message`.
//!
//! Holds no more than one string, decodes nothing else, and gives up where the id is not near the beginning.

/// Bytes after which an id is not looked for any more.
const GIVE_UP: usize = 1024 * 1024;
/// Longest string that may be an id.
const LONGEST: usize = 512;

/// Members of a stream's event that are the answer.
const HOMES: [&[u8]; 2] = [b"response", b"message"];

/// Where a string stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Key,
    Value,
}

/// Reads bytes cut anywhere.
#[derive(Debug)]
pub struct FirstId {
    read: usize,
    depth: usize,
    /// Depth of the object that the id belongs to.
    home: usize,
    next: Next,
    /// The key before the value that comes next.
    key: Vec<u8>,
    /// The string that is being read, and whether its next byte is escaped.
    string: Option<(Vec<u8>, bool)>,
    found: Option<String>,
}

impl Default for FirstId {
    fn default() -> Self {
        Self { read: 0, depth: 0, home: 1, next: Next::Key, key: Vec::new(), string: None, found: None }
    }
}

impl FirstId {
    /// Takes bytes; the id, once it has been found.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<&str> {
        for byte in bytes {
            if self.found.is_some() || self.read == GIVE_UP {
                break;
            }
            self.read += 1;
            self.byte(*byte);
        }
        self.found.as_deref()
    }

    fn byte(&mut self, byte: u8) {
        if let Some((text, is_escaped)) = &mut self.string {
            if byte == b'"' && !*is_escaped {
                let text = std::mem::take(text);
                self.string = None;
                self.ended(text);
                return;
            }
            *is_escaped = byte == b'\\' && !*is_escaped;
            if text.len() <= LONGEST {
                text.push(byte);
            }
            return;
        }
        match byte {
            b'{' => self.open(Next::Key),
            b'[' if self.depth > 0 => self.open(Next::Value),
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                if self.depth < self.home {
                    self.home = 1;
                }
                self.next = Next::Value;
            }
            // Between the events of a stream quotes mean nothing.
            b'"' if self.depth > 0 => self.string = Some((Vec::new(), false)),
            b':' => self.next = Next::Value,
            b',' if self.depth == self.home => self.next = Next::Key,
            _ => {}
        }
    }

    fn open(&mut self, next: Next) {
        if next == Next::Key && self.depth == 1 && self.home == 1 && HOMES.contains(&self.key.as_slice()) {
            self.home = 2;
        }
        self.depth += 1;
        self.key.clear();
        self.next = next;
    }

    fn ended(&mut self, text: Vec<u8>) {
        if self.depth != self.home {
            return;
        }
        if self.next == Next::Key {
            self.key = text;
        } else if self.key == b"id" && (1..=LONGEST).contains(&text.len()) && !text.contains(&b'\\') {
            self.found = String::from_utf8(text).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn find(text: &str, size: usize) -> Option<String> {
        let mut finder = FirstId::default();
        text.as_bytes().chunks(size).find_map(|bytes| finder.feed(bytes).map(str::to_owned))
    }

    #[test]
    fn ids_are_found_in_bodies_and_streams() {
        let response =
            json!({"output": [{"id": "msg_1"}], "a": "\"id\":\"x\"", "b": {"id": "no"}, "id": "resp_1"});
        let event = json!({"item": {"id": "no"}, "response": response, "type": "response.created"});
        let stream = format!(": it's \"quoted\n\nevent: response.created\ndata: {event}\n\n");
        for text in [response.to_string(), format!("{response:#}"), stream] {
            for size in [1, 3, 7, 4096] {
                assert_eq!(find(&text, size).as_deref(), Some("resp_1"), "{text}");
            }
        }
        let late = format!("data: {}\n\ndata: {event}\n\n", json!({"type": "other", "n": [1, {"id": "no"}]}));
        assert_eq!(find(&late, 5).as_deref(), Some("resp_1"));
        let message = format!("data: {}\n\n", json!({"type": "message_start", "message": {"id": "msg_1"}}));
        assert_eq!(find(&message, 5).as_deref(), Some("msg_1"));
    }

    #[test]
    fn what_is_no_id_is_none() {
        for text in
            [r#"{"id":7,"a":"b"}"#, r#"{"x":{"id":"a"}}"#, r#"[{"id":["a"]}]"#, r#"{"id":""}"#, "", "id"]
        {
            assert_eq!(find(text, 2), None, "{text}");
        }
        assert_eq!(find(&format!("{{\"a\":\"{}\",\"id\":\"x\"}}", "y".repeat(GIVE_UP)), 4096), None);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            "[a-z{}:,\"\\\\\\[]{0,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let name = prop_oneof![Just("id".to_owned()), "[a-z\"\\\\]{1,4}"];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((name, inner), 0..4)
                    .prop_map(|list| Value::Object(list.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_a_whole_reader(value in values(), size in 1usize..9) {
            let body = json!({"m": value, "id": "resp_1"});
            prop_assert_eq!(find(&body.to_string(), size), Some("resp_1".to_owned()));
            let event = json!({"m": value, "response": {"m": value, "id": "resp_1"}});
            prop_assert_eq!(find(&format!("data: {event}\n\n"), size), Some("resp_1".to_owned()));
        }

        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            FirstId::default().feed(&bytes);
        }
    }
}
