//! Texts of bodies that are stored and compared as they are: names of owners, of conversations.

/// Longest owner id, in characters.
pub(super) const OWNER_CHARS: usize = 200;

/// The text, if it is of that many characters and none of them is a control character.
pub(super) fn plain(text: &str, least: usize, most: usize) -> Result<String, String> {
    let fits = (least..=most).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if fits {
        Ok(text.to_owned())
    } else {
        Err(format!("has {least} to {most} characters, none of them control characters"))
    }
}
