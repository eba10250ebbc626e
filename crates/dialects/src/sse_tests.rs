use super::*;
use proptest::prelude::*;

fn read(chunks: &[&[u8]]) -> Result<Vec<Frame>, TooLarge> {
    let mut framer = Framer::new(1000);
    let mut all = Vec::new();
    for chunk in chunks {
        framer.push(chunk);
        while let Some(frame) = framer.next()? {
            all.push(frame);
        }
    }
    all.extend(framer.finish()?);
    Ok(all)
}

fn data(body: &[u8]) -> Vec<Option<String>> {
    let text = |data: &Bytes| String::from_utf8(data.to_vec()).unwrap();
    read(&[body]).unwrap().iter().map(|frame| frame.data.as_ref().map(text)).collect()
}

fn some(all: &[&str]) -> Vec<Option<String>> {
    all.iter().map(|one| Some((*one).to_owned())).collect()
}

#[test]
fn every_line_end_and_every_form_of_a_field_is_read() {
    for body in [
        "data: a\n\ndata: b\n\n",
        "data: a\r\n\r\ndata: b\r\n\r\n",
        "data:a\r\rdata:b\r\r",
        "\u{FEFF}data:a\n\ndata: b",
    ] {
        assert_eq!(data(body.as_bytes()), some(&["a", "b"]), "{body:?}");
    }
    assert_eq!(data(b"data: a\ndata:  b\n: c\ndata\n\n"), some(&["a\n b\n"]));
    assert_eq!(data(b"data\ndata:x\n\n"), some(&["\nx"]));
    assert_eq!(data(b": hello\n\n\nid: 7\n\n"), [None, None, None]);
    assert_eq!(data(b""), []);
    let frame = &read(&[b"event: ping\r\ndata: {}\r\n\r\n"]).unwrap()[0];
    assert_eq!(frame.event.as_deref(), Some(b"ping".as_slice()));
    assert!(frame.complete);
}

#[test]
fn a_last_event_without_blank_line_is_ended_when_written() {
    for (body, ended) in [
        ("data: a", "data: a\n\n"),
        ("data: a\n", "data: a\n\n"),
        ("data: a\r", "data: a\r\n\n"),
        ("data: a\r\r", "data: a\r\r"),
        ("data: a\r\n\r", "data: a\r\n\r"),
    ] {
        let mut out = Vec::new();
        read(&[body.as_bytes()]).unwrap()[0].write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), ended);
    }
}

#[test]
fn written_data_is_read_back() {
    let mut out = Vec::new();
    write(Some(b"e"), "{\n\"a\":\r1}", &mut out);
    assert_eq!(out, b"event: e\ndata: {\ndata: \"a\":\ndata: 1}\n\n");
}

#[test]
fn a_frame_above_the_cap_is_refused_however_it_comes() {
    let long = vec![b'x'; 1001];
    assert_eq!(read(&[&long]), Err(TooLarge));
    let frame = [b"data:".as_slice(), &long[..996], b"\n\n"].concat();
    assert_eq!(read(&[&frame]), Err(TooLarge));
    let chunks: Vec<&[u8]> = frame.chunks(1).collect();
    assert_eq!(read(&chunks), Err(TooLarge));
}

#[test]
fn many_data_lines_are_read_in_linear_time() {
    let mut framer = Framer::new(4_000_000);
    framer.push(&b"data:\n".repeat(500_000));
    framer.push(b"\n");
    assert_eq!(framer.next().unwrap().unwrap().data.unwrap().len(), 499_999);
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"data:".to_vec()),
        Just(b"event:e".to_vec()),
        Just(b": c".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just("那🙂".as_bytes().to_vec()),
        Just(BOM.to_vec()),
        prop::collection::vec(any::<u8>(), 0..3),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn chunking_changes_nothing_and_no_byte_is_lost(body in body(), size in 1usize..5) {
        let whole = read(&[&body]).unwrap();
        let chunks: Vec<&[u8]> = body.chunks(size).collect();
        prop_assert_eq!(&read(&chunks).unwrap(), &whole);
        for cut in 0..=body.len() {
            prop_assert_eq!(&read(&[&body[..cut], &body[cut..]]).unwrap(), &whole);
        }
        let raw: Vec<u8> = whole.iter().flat_map(|frame| frame.raw.to_vec()).collect();
        prop_assert_eq!(raw.as_slice(), body.strip_prefix(BOM).unwrap_or(&body));
    }
}
