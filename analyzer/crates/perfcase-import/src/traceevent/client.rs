//! The side that outlives the child. It sends requests ahead and takes answers in order. When the child dies or hangs,
//! it names the request that caused it, starts a new child, and continues after that request.

use std::collections::VecDeque;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::protocol::{Answer, Request};

/// The most bytes of requests that may wait for an answer. A pipe takes 64 KiB, so a write never blocks on a child that
/// hangs.
const WINDOW_BYTES: usize = 32 << 10;
/// The most requests that may wait for an answer.
const WINDOW_REQUESTS: usize = 256;
/// The number of deaths after which nothing more is tried.
const MOST_DEATHS: u32 = 100;

/// The reason why nothing more can be printed.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// The child could not be started.
    #[error("the event printer cannot be started: {0}")]
    Start(#[source] io::Error),
    /// The child said that it cannot print, because the library is missing.
    #[error("{0}")]
    Library(String),
    /// The child died too often, or before it answered anything.
    #[error("the event printer died {deaths} times, the last time of {cause}; given up")]
    Deaths {
        /// How many times.
        deaths: u32,
        /// The request at which it died last.
        cause: String,
    },
}

/// Both ends of a running child, and the way to end it.
pub struct Link {
    /// Its input.
    pub input: Box<dyn Write + Send>,
    /// Its output.
    pub output: Box<dyn Read + Send>,
    /// Ends the child, whatever it does. It is called once.
    pub end: Box<dyn FnOnce() + Send>,
}

/// Starts children.
pub trait Spawn {
    /// Starts one child.
    fn spawn(&mut self) -> io::Result<Link>;
}

/// A child that a command line starts, such as `python -m perfcase.case.eventprinter`.
pub struct CommandLine(pub Vec<std::ffi::OsString>);

impl Spawn for CommandLine {
    fn spawn(&mut self) -> io::Result<Link> {
        let (program, arguments) = self.0.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child: Child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let end = move || {
            let _ = child.kill();
            let _ = child.wait();
        };
        Ok(Link { input: Box::new(input), output: Box::new(output), end: Box::new(end) })
    }
}

/// A request and the tag by which its sender knows it. Requests of the client itself have no tag.
struct Waiting<T> {
    request: Request,
    tag: Option<T>,
}

/// The outcome of a tagged request: its text (empty for requests that have none), or the reason why there is none.
pub(super) type Outcome = Result<String, String>;

struct Running {
    input: BufWriter<Box<dyn Write + Send>>,
    answers: Receiver<io::Result<Option<Answer>>>,
    end: Option<Box<dyn FnOnce() + Send>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end();
        }
    }
}

/// Talks to one child after another.
pub(super) struct Client<'a, T> {
    spawn: &'a mut dyn Spawn,
    deadline: Duration,
    running: Option<Running>,
    /// What a new child gets first: setup, names, formats.
    base: Vec<Request>,
    waiting: VecDeque<Waiting<T>>,
    waiting_bytes: usize,
    deaths: u32,
}

impl<'a, T> Client<'a, T> {
    /// Begins without a child. `base` begins with a [`Request::Setup`]. `deadline` is the time for each answer.
    pub(super) fn new(spawn: &'a mut dyn Spawn, deadline: Duration, base: Vec<Request>) -> Client<'a, T> {
        Client { spawn, deadline, running: None, base, waiting: VecDeque::new(), waiting_bytes: 0, deaths: 0 }
    }

    /// Sends a request, and meanwhile hands on the outcomes of earlier requests.
    pub(super) fn send(
        &mut self,
        request: Request,
        tag: T,
        taken: &mut dyn FnMut(T, Outcome),
    ) -> Result<(), PrintError> {
        let size = request.size();
        if self.waiting.len() >= WINDOW_REQUESTS || self.waiting_bytes + size > WINDOW_BYTES {
            // Waits until half is left, so that requests leave in batches.
            while !self.waiting.is_empty()
                && (self.waiting.len() > WINDOW_REQUESTS / 2 || self.waiting_bytes + size > WINDOW_BYTES / 2)
            {
                self.take_one(taken)?;
            }
        }
        self.waiting_bytes += size;
        self.waiting.push_back(Waiting { request, tag: Some(tag) });
        self.deliver_last();
        Ok(())
    }

    /// Waits until every request has its outcome.
    pub(super) fn finish(&mut self, taken: &mut dyn FnMut(T, Outcome)) -> Result<(), PrintError> {
        while !self.waiting.is_empty() {
            self.take_one(taken)?;
        }
        Ok(())
    }

    /// Writes the newest request. A dead child is noticed when its answer is awaited.
    fn deliver_last(&mut self) {
        if let (Some(running), Some(last)) = (&mut self.running, self.waiting.back()) {
            let _ = last.request.send(&mut running.input);
        }
    }

    /// Takes the answer to the oldest request. Starts a new child if there is none.
    fn take_one(&mut self, taken: &mut dyn FnMut(T, Outcome)) -> Result<(), PrintError> {
        if self.running.is_none() {
            self.start()?;
        }
        let Some(running) = &mut self.running else { return Ok(()) };
        let _ = running.input.flush();
        let outcome = match running.answers.recv_timeout(self.deadline) {
            Ok(Ok(Some(Answer::Done))) => Ok(String::new()),
            Ok(Ok(Some(Answer::Text(text)))) => Ok(text),
            Ok(Ok(Some(Answer::Failed(why)))) => Err(why),
            Ok(_) => self.died("crashed")?,
            Err(_) => self.died("did not end in time")?,
        };
        let Some(done) = self.waiting.pop_front() else { return Ok(()) };
        self.waiting_bytes -= done.request.size().min(self.waiting_bytes);
        if outcome.is_ok() && matches!(done.request, Request::Format { .. }) {
            self.base.push(done.request);
        }
        if let Some(tag) = done.tag {
            taken(tag, outcome);
        }
        Ok(())
    }

    /// Starts a child, sends it the base, and then all requests that wait.
    fn start(&mut self) -> Result<(), PrintError> {
        loop {
            let mut running = self.open()?;
            match tell_base(&mut running, &self.base, self.deadline) {
                Ok(()) => {
                    for waiting in &self.waiting {
                        let _ = waiting.request.send(&mut running.input);
                    }
                    self.running = Some(running);
                    return Ok(());
                }
                Err(Refusal::Library(why)) => return Err(PrintError::Library(why)),
                Err(Refusal::Died(index)) => {
                    drop(running);
                    // Names and formats are useful, but not necessary: without the one that kills the child, others
                    // print.
                    let cause = self.base[index].cause();
                    self.count_death(&cause)?;
                    if index == 0 {
                        return Err(PrintError::Deaths { deaths: self.deaths, cause });
                    }
                    self.base.remove(index);
                }
            }
        }
    }

    fn open(&mut self) -> Result<Running, PrintError> {
        let link = self.spawn.spawn().map_err(PrintError::Start)?;
        let (sender, answers) = channel();
        let mut output = BufReader::new(link.output);
        std::thread::spawn(move || {
            loop {
                let answer = Answer::receive(&mut output);
                let is_last = !matches!(answer, Ok(Some(_)));
                if sender.send(answer).is_err() || is_last {
                    return;
                }
            }
        });
        Ok(Running { input: BufWriter::with_capacity(WINDOW_BYTES, link.input), answers, end: Some(link.end) })
    }

    /// Notes that the oldest request ended the child; gives the outcome of that request.
    fn died(&mut self, how: &str) -> Result<Outcome, PrintError> {
        self.running = None;
        let cause = self.waiting.front().map(|waiting| waiting.request.cause()).unwrap_or_default();
        self.count_death(&cause)?;
        Ok(Err(format!("libtraceevent {how} on {cause}")))
    }

    fn count_death(&mut self, cause: &str) -> Result<(), PrintError> {
        self.deaths += 1;
        if self.deaths > MOST_DEATHS {
            return Err(PrintError::Deaths { deaths: self.deaths, cause: cause.to_owned() });
        }
        Ok(())
    }
}

enum Refusal {
    /// The setup failed: there is no library.
    Library(String),
    /// The child died at the request of that number in the base.
    Died(usize),
}

fn tell_base(running: &mut Running, base: &[Request], deadline: Duration) -> Result<(), Refusal> {
    for (index, request) in base.iter().enumerate() {
        // A dead child is noticed by the missing answer.
        let _ = request.send(&mut running.input);
        let _ = running.input.flush();
        match running.answers.recv_timeout(deadline) {
            Ok(Ok(Some(Answer::Failed(why)))) if index == 0 => return Err(Refusal::Library(why)),
            Ok(Ok(Some(_))) => {}
            _ => return Err(Refusal::Died(index)),
        }
    }
    Ok(())
}

impl Request {
    /// Names the request in words, for messages.
    fn cause(&self) -> String {
        match self {
            Request::Setup(_) => "its setup".to_owned(),
            Request::Format { system, text } => {
                let name = text.lines().find_map(|line| line.strip_prefix("name:")).unwrap_or_default().trim();
                format!("the format of {system}:{name}")
            }
            Request::Comms(_) => "saved_cmdlines".to_owned(),
            Request::Kallsyms(_) => "kallsyms".to_owned(),
            Request::PrintkFormats(_) => "printk_formats".to_owned(),
            Request::Record { data, .. } => format!("a record of {} bytes", data.len()),
        }
    }
}
