//! The messages between the two processes: a 32-bit little-endian length, one byte of kind, and a body. The child
//! answers each request with one answer, in order. So the first request without an answer is the one at which the child
//! died.

use std::io::{self, ErrorKind, Read, Write};

use super::printer::{Record, Setup, Style};

/// The longest message, in bytes. /proc/kallsyms of a large kernel has about 20 MB.
const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// What the parent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    Setup(Setup),
    Format {
        system: String,
        text: String,
    },
    Comms(Vec<u8>),
    Kallsyms(Vec<u8>),
    PrintkFormats(Vec<u8>),
    /// `following` is the return of the call that the record is, if they share a line.
    Record {
        ts: u64,
        cpu: u32,
        data: Vec<u8>,
        following: Option<Vec<u8>>,
    },
}

/// What the child answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The request was understood.
    Done,
    /// A record's text.
    Text(String),
    /// The request failed. The child continues.
    Failed(String),
}

fn send(output: &mut impl Write, kind: u8, parts: &[&[u8]]) -> io::Result<()> {
    let length: usize = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut message = Vec::with_capacity(4 + length);
    message.extend((length as u32).to_le_bytes());
    message.push(kind);
    for part in parts {
        message.extend_from_slice(part);
    }
    // In one write, so that an answer before a crash has left the process.
    output.write_all(&message)
}

/// Reads a message; `None` when the stream ends between two messages.
fn receive(input: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length == 0 || length > MAX_MESSAGE_BYTES {
        return Err(bad("a message's length is impossible"));
    }
    let mut body = Vec::new();
    input.take(length as u64).read_to_end(&mut body)?;
    if body.len() != length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let kind = body.remove(0);
    Ok(Some((kind, body)))
}

fn bad(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

impl Request {
    pub(super) fn send(&self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Request::Setup(setup) => {
                let style = u8::from(setup.style == Style::Perf);
                send(output, b's', &[&[u8::from(setup.big_endian), setup.long_size, style]])
            }
            Request::Format { system, text } => send(output, b'f', &[system.as_bytes(), b"\0", text.as_bytes()]),
            Request::Comms(text) => send(output, b'c', &[text]),
            Request::Kallsyms(text) => send(output, b'k', &[text]),
            Request::PrintkFormats(text) => send(output, b'p', &[text]),
            Request::Record { ts, cpu, data, following } => {
                let length = (data.len() as u32).to_le_bytes();
                let has_following = [u8::from(following.is_some())];
                let behind = following.as_deref().unwrap_or_default();
                send(output, b'r', &[&ts.to_le_bytes(), &cpu.to_le_bytes(), &length, &has_following, data, behind])
            }
        }
    }

    pub(super) fn receive(input: &mut impl Read) -> io::Result<Option<Request>> {
        let Some((kind, body)) = receive(input)? else { return Ok(None) };
        Request::parse(kind, body).map(Some).ok_or_else(|| bad("a request is malformed"))
    }

    fn parse(kind: u8, body: Vec<u8>) -> Option<Request> {
        Some(match kind {
            b's' => {
                let style = if *body.get(2)? == 1 { Style::Perf } else { Style::TraceCmd };
                Request::Setup(Setup { big_endian: body[0] != 0, long_size: body[1], style })
            }
            b'f' => {
                let (system, text) = std::str::from_utf8(&body).ok()?.split_once('\0')?;
                Request::Format { system: system.to_owned(), text: text.to_owned() }
            }
            b'c' => Request::Comms(body),
            b'k' => Request::Kallsyms(body),
            b'p' => Request::PrintkFormats(body),
            b'r' => {
                let (head, rest) = body.split_at_checked(17)?;
                let length = u32::from_le_bytes(head[12..16].try_into().ok()?) as usize;
                let (data, behind) = rest.split_at_checked(length)?;
                Request::Record {
                    ts: u64::from_le_bytes(head[..8].try_into().ok()?),
                    cpu: u32::from_le_bytes(head[8..12].try_into().ok()?),
                    data: data.to_vec(),
                    following: (head[16] != 0).then(|| behind.to_vec()),
                }
            }
            _ => return None,
        })
    }

    /// Gives the number of bytes that [`Request::send`] writes, roughly.
    pub(super) fn size(&self) -> usize {
        32 + match self {
            Request::Setup(_) => 0,
            Request::Format { text, .. } => text.len(),
            Request::Comms(text) | Request::Kallsyms(text) | Request::PrintkFormats(text) => text.len(),
            Request::Record { data, following, .. } => data.len() + following.as_ref().map_or(0, Vec::len),
        }
    }

    /// Gives the record to print; `None` for a request that is no [`Request::Record`].
    pub(super) fn record(&self) -> Option<Record<'_>> {
        match self {
            Request::Record { ts, cpu, data, following } => {
                Some(Record { ts: *ts, cpu: *cpu, data, following: following.as_deref() })
            }
            _ => None,
        }
    }
}

impl Answer {
    pub(super) fn send(&self, output: &mut impl Write) -> io::Result<()> {
        match self {
            Answer::Done => send(output, b'd', &[]),
            Answer::Text(text) => send(output, b't', &[text.as_bytes()]),
            Answer::Failed(why) => send(output, b'e', &[why.as_bytes()]),
        }
    }

    pub(super) fn receive(input: &mut impl Read) -> io::Result<Option<Answer>> {
        let Some((kind, body)) = receive(input)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&body).into_owned();
        match kind {
            b'd' => Ok(Some(Answer::Done)),
            b't' => Ok(Some(Answer::Text(text))),
            b'e' => Ok(Some(Answer::Failed(text))),
            _ => Err(bad("an answer is malformed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_comes_back_as_it_was_sent() {
        let requests = [
            Request::Setup(Setup { big_endian: true, long_size: 4, style: Style::Perf }),
            Request::Setup(Setup { big_endian: false, long_size: 8, style: Style::TraceCmd }),
            Request::Format { system: "sched".into(), text: "name: x\nID: 1\n".into() },
            Request::Comms(b"1 init\n".to_vec()),
            Request::Kallsyms(Vec::new()),
            Request::PrintkFormats(b"x".to_vec()),
            Request::Record { ts: u64::MAX, cpu: 3, data: vec![1, 2, 3], following: Some(vec![4]) },
            Request::Record { ts: 0, cpu: 0, data: Vec::new(), following: None },
        ];
        let mut stream = Vec::new();
        requests.iter().for_each(|request| request.send(&mut stream).unwrap());
        let mut input = &stream[..];
        for request in &requests {
            assert_eq!(Request::receive(&mut input).unwrap().as_ref(), Some(request));
        }
        assert_eq!(Request::receive(&mut input).unwrap(), None);
        let answers = [Answer::Done, Answer::Text("a\nb".into()), Answer::Failed("no".into())];
        let mut stream = Vec::new();
        answers.iter().for_each(|answer| answer.send(&mut stream).unwrap());
        let mut input = &stream[..];
        for answer in &answers {
            assert_eq!(Answer::receive(&mut input).unwrap().as_ref(), Some(answer));
        }
        for broken in [&b"\0\0\0\0"[..], b"\xff\xff\xff\xff", b"\x02\0\0\0d", b"\x02\0\0\0zz", b"\x03\0\0\0r\0\0"] {
            assert!(Request::receive(&mut &broken[..]).is_err(), "{broken:?}");
        }
    }
}
