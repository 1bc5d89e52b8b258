//! The process that prints. It reads requests from its input, lets libtraceevent print, and writes answers to its
//! output.
//!
//! The parent limits its memory and processor time (`perfcase.case.eventprinter` does). It may crash at any record.

use std::io::{self, Read, Write};

use super::printer::Printer;
use super::protocol::{Answer, Request};

/// Answers requests until the input ends. An error is an error of the streams. A request that fails gets an answer that
/// says why.
pub fn run(input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    let mut printer = None;
    while let Some(request) = Request::receive(input)? {
        answer(&mut printer, request).send(output)?;
        output.flush()?;
    }
    Ok(())
}

fn answer(printer: &mut Option<Printer>, request: Request) -> Answer {
    if let Request::Setup(setup) = request {
        return match Printer::new(setup) {
            Ok(made) => {
                *printer = Some(made);
                Answer::Done
            }
            Err(why) => Answer::Failed(why),
        };
    }
    let Some(printer) = printer else { return Answer::Failed("nothing was set up".to_owned()) };
    match &request {
        Request::Format { system, text } => match printer.add_format(system, text) {
            Ok(()) => Answer::Done,
            Err(why) => Answer::Failed(why),
        },
        Request::Comms(text) => {
            printer.add_comms(text);
            Answer::Done
        }
        Request::Kallsyms(text) => {
            printer.add_kallsyms(text);
            Answer::Done
        }
        Request::PrintkFormats(text) => {
            printer.add_printk_formats(text);
            Answer::Done
        }
        Request::Record { .. } | Request::Setup(_) => {
            let Some(record) = request.record() else { return Answer::Failed("no record".to_owned()) };
            match printer.print(record) {
                Ok(text) => Answer::Text(text),
                Err(why) => Answer::Failed(why),
            }
        }
    }
}
