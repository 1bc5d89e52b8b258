//! A child that dies or hangs at chosen requests, in place of libtraceevent.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::client::{Client, Link, Outcome, PrintError, Spawn};
use super::printer::{Setup, Style};
use super::protocol::{Answer, Request};

const DIES: u8 = 0xdd;
const HANGS: u8 = 0xaa;

/// Answers a record with its time. Dies or hangs at a record or text that begins with one of the bytes above.
fn fake_child(stream: UnixStream, started: usize, starts_broken: bool) {
    let mut input = stream.try_clone().unwrap();
    let mut output = stream;
    while let Ok(Some(request)) = Request::receive(&mut input) {
        let first = match &request {
            Request::Record { data, .. } => data.first().copied(),
            Request::Kallsyms(text) => text.first().copied(),
            Request::Format { text, .. } => text.bytes().next(),
            _ => None,
        };
        let answer = match (first, &request) {
            _ if starts_broken => break,
            (Some(DIES), _) | (Some(b'!'), Request::Format { .. }) => break,
            (Some(HANGS), _) => {
                // Until the other side ends it.
                let _ = io::copy(&mut input, &mut io::sink());
                break;
            }
            (_, Request::Record { ts, .. }) => Answer::Text(format!("{started}:{ts}")),
            _ => Answer::Done,
        };
        if answer.send(&mut output).is_err() {
            break;
        }
    }
    let _ = output.shutdown(Shutdown::Both);
}

/// Starts such children and counts them.
#[derive(Default)]
struct Fake {
    started: usize,
    starts_broken: bool,
}

impl Spawn for Fake {
    fn spawn(&mut self) -> io::Result<Link> {
        let (ours, theirs) = UnixStream::pair()?;
        self.started += 1;
        let (number, broken) = (self.started, self.starts_broken);
        std::thread::spawn(move || fake_child(theirs, number, broken));
        let ended = ours.try_clone()?;
        Ok(Link {
            input: Box::new(ours.try_clone()?),
            output: Box::new(ours),
            end: Box::new(move || drop(ended.shutdown(Shutdown::Both))),
        })
    }
}

fn setup() -> Request {
    Request::Setup(Setup { big_endian: false, long_size: 8, style: Style::TraceCmd })
}

fn record(ts: u64, first: u8) -> Request {
    Request::Record { ts, cpu: 0, data: vec![first; 8], following: None }
}

/// Sends the requests, tagged with their places. Gives the outcomes in the order in which they came.
fn outcomes(fake: &mut Fake, base: Vec<Request>, requests: Vec<Request>) -> Result<Vec<(usize, Outcome)>, PrintError> {
    let mut client = Client::new(fake, Duration::from_millis(300), base);
    let mut found = Vec::new();
    let mut taken = |tag: usize, outcome: Outcome| found.push((tag, outcome));
    for (tag, request) in requests.into_iter().enumerate() {
        client.send(request, tag, &mut taken)?;
    }
    client.finish(&mut taken)?;
    Ok(found)
}

#[test]
fn a_record_that_kills_or_hangs_the_child_is_named_and_the_rest_is_printed() {
    let mut fake = Fake::default();
    let kinds = [0, 0, DIES, 0, HANGS, DIES, 0];
    let requests = kinds.iter().enumerate().map(|(ts, first)| record(ts as u64, *first)).collect();
    let found = outcomes(&mut fake, vec![setup()], requests).unwrap();
    let crashed = || Err("libtraceevent crashed on a record of 8 bytes".to_owned());
    let hung = Err("libtraceevent did not end in time on a record of 8 bytes".to_owned());
    let text = |text: &str| Ok(text.to_owned());
    let expected = [text("1:0"), text("1:1"), crashed(), text("2:3"), hung, crashed(), text("4:6")];
    assert_eq!(found, expected.into_iter().enumerate().collect::<Vec<_>>());
    assert_eq!(fake.started, 4);
}

#[test]
fn more_requests_than_the_window_keep_their_order_over_a_death() {
    let mut fake = Fake::default();
    let requests: Vec<_> = (0..3000).map(|ts| record(ts, if ts == 1500 { DIES } else { 0 })).collect();
    let found = outcomes(&mut fake, vec![setup()], requests).unwrap();
    assert_eq!(found.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(), (0..3000).collect::<Vec<_>>());
    let failed: Vec<_> = found.iter().filter(|(_, outcome)| outcome.is_err()).map(|(tag, _)| *tag).collect();
    assert_eq!(failed, [1500]);
    assert_eq!((found[1499].1.clone(), found[1501].1.clone()), (Ok("1:1499".into()), Ok("2:1501".into())));
}

#[test]
fn a_format_or_names_that_kill_are_left_out_of_the_next_child() {
    let mut fake = Fake::default();
    let format = |text: &str| Request::Format { system: "s".into(), text: text.into() };
    let base = vec![setup(), Request::Kallsyms(vec![DIES]), Request::Comms(vec![1])];
    let requests = vec![format("name: good"), format("!\nname: bad"), record(7, 0)];
    let found = outcomes(&mut fake, base, requests).unwrap();
    let killed = Err("libtraceevent crashed on the format of s:bad".to_owned());
    assert_eq!(found, [(0, Ok(String::new())), (1, killed), (2, Ok("3:7".into()))]);
}

#[test]
fn a_child_that_never_works_is_given_up() {
    let mut fake = Fake { starts_broken: true, ..Fake::default() };
    let error = outcomes(&mut fake, vec![setup()], vec![record(1, 0)]).unwrap_err();
    assert!(matches!(error, PrintError::Deaths { deaths: 1, .. }), "{error}");
    let mut dying = Fake::default();
    let error = outcomes(&mut dying, vec![setup()], (0..200).map(|ts| record(ts, DIES)).collect()).unwrap_err();
    assert!(matches!(error, PrintError::Deaths { deaths: 101, .. }), "{error}");
}
