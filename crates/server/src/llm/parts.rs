//! Texts, images and files that a skill returns beside its JSON, on their way to the model.
//!
//! Texts become content. Every image and file is named in the content, with where it is kept; it goes along itself
//! where the dialect and the model take it and it is sound and small enough. A part is never a reason to fail.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::ids::sha256_hex;
use domain::{Part, ToolResult, limits, text};
use http::StatusCode;

/// What stands for a media type that is none.
const UNKNOWN: &str = "application/octet-stream";
/// Longest media type that is believed.
const MIME_BYTES: usize = 100;
/// Longest file name, in characters.
const NAME_CHARS: usize = 120;

/// Puts parts into a result: texts into its content, the others beside it.
pub(super) fn put(result: &mut ToolResult, parts: Vec<Part>) {
    for part in parts {
        match part {
            Part::Text { text } => {
                result.content.push('\n');
                result.content.push_str(&text);
            }
            Part::Image { mime, data } => result.parts.push(Part::Image { mime: essence(&mime), data }),
            Part::File { name, mime, data } => {
                result.parts.push(Part::File { name: plain_name(&name), mime: essence(&mime), data });
            }
        }
    }
}

/// What two results have in common that are the same.
pub(super) fn fingerprint(result: &ToolResult) -> String {
    let mut print = result.content.clone();
    for part in &result.parts {
        let (kind, data) = named(part);
        print.extend(["\n", &kind, " ", &sha256_hex(data)]);
    }
    print
}

/// Names the parts in the content and drops those that do not go along. `media` is what the model takes, `spent`
/// the base64 that this turn has sent so far.
pub(super) fn settle(result: &mut ToolResult, execution: Option<&str>, media: &[&str], spent: &mut usize) {
    let place = execution.map(|id| format!(": GET /api/skills/executions/{id}")).unwrap_or_default();
    for part in result.parts.iter().take(limits::RESULT_PARTS) {
        let (kind, data) = named(part);
        let bytes = decoded_bytes(data).to_string();
        result.content.extend(["\n[", &kind, ", ", &bytes, " bytes", &place, "]"]);
    }
    if let Some(more @ 1..) = result.parts.len().checked_sub(limits::RESULT_PARTS) {
        result.content.extend(["\n[", &more.to_string(), " more parts", &place, "]"]);
    }
    result.parts.truncate(limits::RESULT_PARTS);
    result.parts.retain(|part| {
        let (mime, data) = content(part);
        let after = spent.saturating_add(data.len());
        let goes = media.contains(&mime) && after <= limits::TURN_PART_BYTES && is_sound(mime, data);
        if goes {
            *spent = after;
        }
        goes
    });
}

/// Whether the images and files of these results may be why an upstream refused a request.
pub(super) fn may_be_why(status: StatusCode, results: &[ToolResult]) -> bool {
    matches!(status.as_u16(), 400 | 413 | 415 | 422) && results.iter().any(|result| !result.parts.is_empty())
}

/// Media type and base64.
fn content(part: &Part) -> (&str, &str) {
    match part {
        Part::Text { text } => ("", text),
        Part::Image { mime, data } | Part::File { mime, data, .. } => (mime, data),
    }
}

/// What a part is, in words, and its base64.
fn named(part: &Part) -> (String, &str) {
    match part {
        Part::Text { text } => ("text".to_owned(), text),
        Part::Image { mime, data } => (format!("image {mime}"), data),
        Part::File { name, mime, data } => (format!("file {name} {mime}"), data),
    }
}

/// Whether a provider can read it: base64 of something, and text where it says that it is text.
fn is_sound(mime: &str, data: &str) -> bool {
    data.len() <= limits::PART_BYTES
        && STANDARD.decode(data).is_ok_and(|bytes| {
            !bytes.is_empty() && (mime != "text/plain" || std::str::from_utf8(&bytes).is_ok())
        })
}

fn decoded_bytes(data: &str) -> usize {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    (data.len() / 4 * 3).saturating_sub(padding)
}

/// A media type in small letters and without parameters.
fn essence(mime: &str) -> String {
    let essence = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    let is_type = essence.split_once('/').is_some_and(|(kind, sub)| is_word(kind) && is_word(sub));
    match essence.as_str() {
        "image/jpg" => "image/jpeg".to_owned(),
        _ if is_type && essence.len() <= MIME_BYTES => essence,
        _ => UNKNOWN.to_owned(),
    }
}

/// A file name without folders and control characters.
fn plain_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
    let name = text::prefix_chars(name.trim(), NAME_CHARS);
    if name.is_empty() { "file".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEDIA: [&str; 3] = ["image/png", "image/jpeg", "text/plain"];

    fn result() -> ToolResult {
        ToolResult {
            call_id: "c".into(),
            name: "n".into(),
            content: "{}".into(),
            parts: Vec::new(),
            is_error: false,
        }
    }

    fn image(mime: &str, data: &str) -> Part {
        Part::Image { mime: mime.into(), data: data.into() }
    }

    fn settled(parts: Vec<Part>, spent: &mut usize) -> ToolResult {
        let mut result = result();
        put(&mut result, parts);
        settle(&mut result, Some("e1"), &MEDIA, spent);
        result
    }

    #[test]
    fn each_part_is_named_and_goes_along_where_it_can() {
        let file = |name: &str, mime: &str, data: &str| Part::File {
            name: name.into(),
            mime: mime.into(),
            data: data.into(),
        };
        let text = Part::Text { text: "more".into() };
        let parts = vec![
            image("IMAGE/JPG; q=1", "aGk="),
            text,
            image("image/tiff", "aGk="),
            image("image/png", "no base64"),
            image("image/png", ""),
            file("a/b\\c\n.txt", "text/plain", "/w=="),
            file("", "x\n]", "aGk="),
        ];
        let result = settled(parts, &mut 0);
        let lines = "{}\nmore\n[image image/jpeg, 2 bytes: GET /api/skills/executions/e1]\n\
            [image image/tiff, 2 bytes: GET /api/skills/executions/e1]\n\
            [image image/png, 6 bytes: GET /api/skills/executions/e1]\n\
            [image image/png, 0 bytes: GET /api/skills/executions/e1]\n\
            [file c.txt text/plain, 1 bytes: GET /api/skills/executions/e1]\n\
            [file file application/octet-stream, 2 bytes: GET /api/skills/executions/e1]";
        assert_eq!(result.content, lines);
        assert_eq!(result.parts, [image("image/jpeg", "aGk=")]);
    }

    #[test]
    fn a_turn_has_room_for_so_much_and_a_part_for_less() {
        let four = "AAAA".repeat(1024 * 1024);
        let mut spent = 0;
        let result = settled((0..3).map(|_| image("image/png", &four)).collect(), &mut spent);
        assert_eq!((result.parts.len(), spent), (2, 2 * four.len()));
        assert_eq!(settled(vec![image("image/png", "aGk=")], &mut spent).parts.len(), 1);
        let six = "AAAAAA".repeat(1024 * 1024);
        assert_eq!(settled(vec![image("image/png", &six)], &mut 0).parts, []);
    }

    #[test]
    fn another_image_makes_another_result() {
        let print = |data: &str| {
            let mut result = result();
            put(&mut result, vec![image("image/png", data)]);
            fingerprint(&result)
        };
        assert_eq!(print("aGk="), print("aGk="));
        assert_ne!(print("aGk="), print("aGo="));
        assert_eq!(fingerprint(&result()), "{}");
    }

    fn part() -> impl Strategy<Value = Part> {
        let mime = prop_oneof![Just("image/png".to_owned()), Just("text/plain".to_owned()), ".{0,12}"];
        let data = prop_oneof![Just("aGk=".to_owned()), Just("/w==".to_owned()), ".{0,8}"];
        (0..3, ".{0,9}", mime, data).prop_map(|(kind, name, mime, data)| match kind {
            0 => Part::Text { text: data },
            1 => Part::Image { mime, data },
            _ => Part::File { name, mime, data },
        })
    }

    proptest! {
        #[test]
        fn whatever_goes_along_is_sound_and_everything_is_named_on_a_line(
            parts in prop::collection::vec(part(), 0..30)
        ) {
            let others = parts.iter().filter(|part| !matches!(part, Part::Text { .. })).count();
            let texts: String = parts.iter().filter_map(|part| match part {
                Part::Text { text } => Some(format!("\n{text}")),
                _ => None,
            }).collect();
            let result = settled(parts, &mut 0);
            let lines = result.content.strip_prefix(&format!("{{}}{texts}")).unwrap();
            let named = lines.matches("\n[").count();
            prop_assert_eq!(named, others.min(limits::RESULT_PARTS) + usize::from(others > limits::RESULT_PARTS));
            for part in &result.parts {
                let (mime, data) = content(part);
                prop_assert!(MEDIA.contains(&mime) && is_sound(mime, data), "{:?}", part);
            }
        }
    }
}
