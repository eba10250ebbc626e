//! Server-sent events of a whole text, the simple way. Comments are left out.

/// One event with data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) event: String,
    pub(super) data: String,
}

/// All events. The text must end with a blank line.
pub(super) fn read(text: &str) -> Result<Vec<Frame>, String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    if !text.is_empty() && !text.ends_with("\n\n") {
        return Err("the stream does not end with a blank line".to_owned());
    }
    let mut frames = Vec::new();
    for block in text.split("\n\n") {
        let mut frame = Frame::default();
        let mut data: Vec<&str> = Vec::new();
        for line in block.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" => data.push(value),
                "event" => value.clone_into(&mut frame.event),
                "" | "id" | "retry" => {}
                other => return Err(format!("event {}: a line begins with `{other}`", frames.len())),
            }
        }
        if !data.is_empty() {
            frame.data = data.join("\n");
            frames.push(frame);
        }
    }
    Ok(frames)
}
