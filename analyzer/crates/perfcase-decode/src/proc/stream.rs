//! The frames of `proc/snapshots` (schema/README.md): a line for each frame, and the bytes of a file after its line.
//! After a damage the reader continues with the next line that is a frame.

use std::ops::Range;

/// The longest first line of a frame in bytes: numbers and a path.
const LINE_BYTES_MAX: usize = 8192;

/// One frame.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Frame<'a> {
    /// A snapshot begins.
    Start {
        /// Reading of CLOCK_MONOTONIC in ns.
        clock_ns: i64,
        /// Reading of CLOCK_REALTIME at the same moment in ns.
        realtime_ns: i64,
        /// Its number.
        seq: u32,
    },
    /// A file as it was read.
    File {
        /// The time of the reading in ns.
        clock_ns: i64,
        /// Its absolute path.
        path: &'a str,
        /// Its bytes; only complete lines where the stream was cut.
        bytes: &'a [u8],
    },
    /// A file that could not be read.
    Unreadable {
        /// The time of the attempt in ns.
        clock_ns: i64,
        /// The system's error number.
        errno: i32,
        /// Its absolute path.
        path: &'a str,
    },
    /// A snapshot ends.
    End {
        /// The time of the end in ns.
        clock_ns: i64,
        /// Its number.
        seq: u32,
        /// The number of its files.
        file_count: u64,
    },
}

impl Frame<'_> {
    /// Gives its time in ns.
    pub fn clock_ns(&self) -> i64 {
        match *self {
            Frame::Start { clock_ns, .. }
            | Frame::File { clock_ns, .. }
            | Frame::Unreadable { clock_ns, .. }
            | Frame::End { clock_ns, .. } => clock_ns,
        }
    }
}

/// Damage: why bytes of the stream are no frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Damage {
    /// The stream ends within a frame.
    Cut,
    /// This number of bytes was skipped.
    Skipped(u64),
}

/// The content at a place of the stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Step<'a> {
    /// The frame, if there is one.
    pub frame: Option<Frame<'a>>,
    /// The damage there. A cut file is a frame with damage.
    pub damage: Option<Damage>,
    /// Where the next frame begins.
    pub next: usize,
}

/// The place of a file that was found in the stream. Nearly all frames are files, and their lines need not be parsed again.
pub struct FilePlace {
    clock_ns: i64,
    path: Range<usize>,
    bytes: Range<usize>,
    next: usize,
}

impl FilePlace {
    /// Gives the place of a step of this stream; None if it is no whole file, or of another stream.
    pub fn of(step: &Step<'_>, stream: &[u8]) -> Option<FilePlace> {
        let Some(Frame::File { clock_ns, path, bytes }) = step.frame else { return None };
        let place = |part: &[u8]| {
            let start = (part.as_ptr() as usize).checked_sub(stream.as_ptr() as usize)?;
            let place = start..start.checked_add(part.len())?;
            (place.end <= stream.len()).then_some(place)
        };
        let is_whole = step.damage.is_none();
        is_whole.then_some(FilePlace { clock_ns, path: place(path.as_bytes())?, bytes: place(bytes)?, next: step.next })
    }

    /// Gives the step again.
    pub fn step<'a>(&self, stream: &'a [u8]) -> Option<Step<'a>> {
        let path = std::str::from_utf8(stream.get(self.path.clone())?).ok()?;
        let frame = Frame::File { clock_ns: self.clock_ns, path, bytes: stream.get(self.bytes.clone())? };
        Some(Step { frame: Some(frame), damage: None, next: self.next })
    }
}

/// Writes a snapshot of files that were all read at `clock_ns`. It has no wall-clock time.
pub fn write<'a>(out: &mut Vec<u8>, clock_ns: i64, seq: usize, files: impl IntoIterator<Item = (&'a str, &'a [u8])>) {
    out.extend_from_slice(format!("S {clock_ns} 0 {seq}\n").as_bytes());
    let mut file_count = 0;
    for (path, bytes) in files {
        out.extend_from_slice(format!("F {clock_ns} {} {path}\n", bytes.len()).as_bytes());
        out.extend_from_slice(bytes);
        out.push(b'\n');
        file_count += 1;
    }
    out.extend_from_slice(format!("Z {clock_ns} {seq} {file_count} 0\n").as_bytes());
}

/// Reads the frame at `at`; `None` at the end.
pub fn read(stream: &[u8], at: usize) -> Option<Step<'_>> {
    let rest = stream.get(at..).filter(|rest| !rest.is_empty())?;
    let Some(line_end) = rest.iter().take(LINE_BYTES_MAX).position(|&b| b == b'\n') else {
        if rest.len() < LINE_BYTES_MAX {
            return Some(Step { frame: None, damage: Some(Damage::Cut), next: stream.len() });
        }
        return Some(resync(stream, at));
    };
    let after_line = at + line_end + 1;
    match header(&rest[..line_end]) {
        Some(Header::Whole(frame)) => Some(Step { frame: Some(frame), damage: None, next: after_line }),
        Some(Header::File { clock_ns, path, length }) => Some(file(stream, at, after_line, clock_ns, path, length)),
        None => Some(resync(stream, at)),
    }
}

fn file<'a>(stream: &'a [u8], at: usize, data: usize, clock_ns: i64, path: &'a str, length: u64) -> Step<'a> {
    let end = usize::try_from(length).ok().and_then(|length| data.checked_add(length)).unwrap_or(usize::MAX);
    match stream.get(data..end) {
        Some(bytes) if stream.get(end) == Some(&b'\n') => {
            Step { frame: Some(Frame::File { clock_ns, path, bytes }), damage: None, next: end + 1 }
        }
        // The file is complete, only the line end after it is missing.
        Some(bytes) if end == stream.len() => {
            let frame = Some(Frame::File { clock_ns, path, bytes });
            Step { frame, damage: Some(Damage::Cut), next: end }
        }
        // A length without a line end at its end is wrong.
        Some(_) => resync(stream, at),
        None => {
            // The stream is cut within the file, or the length is wrong: then there is a later frame.
            let skipped = resync(stream, at);
            if skipped.next < stream.len() {
                return skipped;
            }
            let bytes = whole_lines(&stream[data..]);
            let frame = Some(Frame::File { clock_ns, path, bytes });
            Step { frame, damage: Some(Damage::Cut), next: stream.len() }
        }
    }
}

/// Cuts a last line that has no end: its numbers may be cut.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

/// Skips to the next line that is a frame.
fn resync(stream: &[u8], at: usize) -> Step<'_> {
    let mut next = at;
    loop {
        let Some(line_end) = stream[next..].iter().position(|&b| b == b'\n') else {
            next = stream.len();
            break;
        };
        next += line_end + 1;
        let line = stream[next..].iter().take(LINE_BYTES_MAX).position(|&b| b == b'\n');
        if line.is_some_and(|end| header(&stream[next..next + end]).is_some()) {
            break;
        }
    }
    Step { frame: None, damage: Some(Damage::Skipped((next - at) as u64)), next }
}

enum Header<'a> {
    Whole(Frame<'a>),
    File { clock_ns: i64, path: &'a str, length: u64 },
}

fn header(line: &[u8]) -> Option<Header<'_>> {
    let line = std::str::from_utf8(line).ok()?;
    let (tag, rest) = line.split_once(' ')?;
    let (clock, rest) = rest.split_once(' ')?;
    let clock_ns = clock.parse().ok()?;
    if tag == "S" {
        let (realtime, seq) = rest.split_once(' ')?;
        let (realtime_ns, seq) = (realtime.parse().ok()?, seq.parse().ok()?);
        return Some(Header::Whole(Frame::Start { clock_ns, realtime_ns, seq }));
    }
    let (first, rest) = rest.split_once(' ')?;
    match tag {
        "F" if rest.starts_with('/') => Some(Header::File { clock_ns, path: rest, length: first.parse().ok()? }),
        "E" if rest.starts_with('/') => {
            Some(Header::Whole(Frame::Unreadable { clock_ns, errno: first.parse().ok()?, path: rest }))
        }
        "Z" => {
            let file_count = rest.split(' ').next()?.parse().ok()?;
            Some(Header::Whole(Frame::End { clock_ns, seq: first.parse().ok()?, file_count }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] =
        b"S 10 20 0\nF 11 6 /proc/a\nx\ny 1\n\nE 12 2 /proc/b\nF 13 0 /proc/c\n\nZ 14 0 2 6\nS 30 40 1\n";

    fn all(stream: &[u8]) -> (Vec<String>, Vec<Damage>) {
        let (mut at, mut frames, mut damage) = (0, Vec::new(), Vec::new());
        while let Some(step) = read(stream, at) {
            assert!(step.next > at, "it must go on");
            at = step.next;
            damage.extend(step.damage);
            frames.extend(step.frame.map(|frame| match frame {
                Frame::Start { clock_ns, realtime_ns, seq } => format!("S {clock_ns} {realtime_ns} {seq}"),
                Frame::File { clock_ns, path, bytes } => {
                    format!("F {clock_ns} {path} {:?}", String::from_utf8_lossy(bytes))
                }
                Frame::Unreadable { clock_ns, errno, path } => format!("E {clock_ns} {errno} {path}"),
                Frame::End { clock_ns, seq, file_count } => format!("Z {clock_ns} {seq} {file_count}"),
            }));
        }
        (frames, damage)
    }

    #[test]
    fn frames_are_read_in_order() {
        let want = [
            "S 10 20 0",
            "F 11 /proc/a \"x\\ny 1\\n\"",
            "E 12 2 /proc/b",
            "F 13 /proc/c \"\"",
            "Z 14 0 2",
            "S 30 40 1",
        ];
        assert_eq!(all(STREAM), (want.map(String::from).to_vec(), vec![]));
    }

    #[test]
    fn a_written_snapshot_is_read() {
        let mut stream = Vec::new();
        write(&mut stream, 7, 3, [("/proc/a", &b"x\ny"[..]), ("/proc/b", b"")]);
        let want = ["S 7 0 3", "F 7 /proc/a \"x\\ny\"", "F 7 /proc/b \"\"", "Z 7 3 2"];
        assert_eq!(all(&stream), (want.map(String::from).to_vec(), vec![]));
    }

    #[test]
    fn every_cut_keeps_what_came_before() {
        let (whole, _) = all(STREAM);
        for cut in 1..STREAM.len() {
            let (frames, damage) = all(&STREAM[..cut]);
            assert!(damage.len() <= 1, "cut at {cut}: {damage:?}");
            let kept = frames.iter().zip(&whole).take_while(|(a, b)| a == b).count();
            assert!(kept + 1 >= frames.len(), "cut at {cut}: {frames:?}");
            if cut >= 33 {
                assert_eq!(frames[1], whole[1], "cut at {cut}");
            }
        }
        // A cut line is left out.
        assert_eq!(all(&STREAM[..29]).0[1], "F 11 /proc/a \"x\\n\"");
    }

    #[test]
    fn a_wrong_length_loses_one_file_only() {
        for wrong in ["3", "7", "9999", "18446744073709551615", "x"] {
            let text = String::from_utf8_lossy(STREAM).replace("F 11 6", &format!("F 11 {wrong}"));
            let (frames, damage) = all(text.as_bytes());
            assert_eq!(frames[1], "E 12 2 /proc/b", "length {wrong}");
            assert_eq!(frames.len(), 5, "length {wrong}");
            assert!(matches!(damage[..], [Damage::Skipped(_)]), "length {wrong}: {damage:?}");
        }
    }

    #[test]
    fn any_bytes_are_survived() {
        let mut seed = 3u64;
        for _ in 0..5_000 {
            let mut bytes = STREAM.to_vec();
            for _ in 0..3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (seed >> 40) as usize % bytes.len();
                bytes[at] = (seed >> 32) as u8;
            }
            all(&bytes);
        }
    }

    #[test]
    fn the_place_of_a_whole_file_gives_its_step_again() {
        let mut stream = Vec::new();
        write(&mut stream, 5, 1, [("/proc/stat", &b"cpu 1"[..])]);
        let mut at = 0;
        let mut files = 0;
        while let Some(step) = read(&stream, at) {
            match FilePlace::of(&step, &stream) {
                Some(place) => {
                    files += 1;
                    assert_eq!(place.step(&stream).as_ref(), Some(&step));
                    assert!(FilePlace::of(&step, &stream[..stream.len() / 4]).is_none(), "of another stream");
                }
                None => assert!(!matches!(step.frame, Some(Frame::File { .. }))),
            }
            at = step.next;
        }
        assert_eq!(files, 1);
    }
}
