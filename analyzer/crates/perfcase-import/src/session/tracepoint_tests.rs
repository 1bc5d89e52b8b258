//! Records of tracepoints through the session: their threads, and the meaning of their bits.

use super::*;
use crate::session::SourceInfo;

fn format(fields: &str, print_fmt: &str) -> EventFormat {
    let text = format!(
        "name: sched_switch\nID: 7\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n{fields}\n\
         print fmt: {print_fmt}\n"
    );
    EventFormat::parse("sched", &text).unwrap()
}

fn session() -> (tempfile::TempDir, Session, SourceId) {
    let directory = tempfile::tempdir().unwrap();
    let mut session = Session::new(directory.path(), None);
    let source = session.source(SourceInfo { name: "perf".into(), ..SourceInfo::default() });
    (directory, session, source)
}

/// common_pid, then a number of 64 bits.
fn payload(pid: i32, value: u64) -> Vec<u8> {
    [&[0; 4][..], &pid.to_le_bytes(), &value.to_le_bytes()].concat()
}

#[test]
fn a_thread_that_lost_its_id_has_the_one_that_the_event_tells() {
    let (_directory, mut session, source) = session();
    let format = EventFormat { name: "other".into(), ..format("\tfield:long x;\toffset:8;\tsize:8;\tsigned:1;", "") };
    let id = session.tracepoint_def(&format, false, source);
    let mut thread = |ids: Option<(i32, i32)>, common_pid: i32| {
        let payload = payload(common_pid, 0);
        let (pid, tid) = ids.unzip();
        session.tracepoint(id, Record { clock_ns: 5, cpu: Some(0), tid, pid, stack: None, payload: &payload });
        let batch = session.tracepoints.take(1).pop().unwrap().1().unwrap();
        let column = batch.column_by_name("utid").unwrap().clone();
        let utid = column.as_any().downcast_ref::<arrow_array::UInt32Array>().unwrap().value(0);
        let thread = &session.model.threads.all[utid as usize];
        (thread.tid, thread.pid)
    };
    assert_eq!(thread(Some((40, 41)), 41), (41, Some(40)));
    // The ids of the idle task, and of two threads that are exiting.
    assert_eq!(thread(Some((0, 0)), 0), (0, Some(0)));
    assert_eq!(thread(Some((0, 0)), 42), (42, None));
    assert_eq!(thread(Some((43, 0)), 44), (44, Some(43)));
    assert_eq!(thread(Some((-1, -1)), 45), (45, None));
    // ftrace has no ids besides the event.
    assert_eq!(thread(None, 46), (46, None));
    assert_eq!(thread(None, 0), (0, Some(0)));
}

#[test]
fn the_table_has_the_bits_of_today_whatever_the_kernel() {
    let states = |release: Option<&str>, print_fmt: &str, bits: &[u64]| -> Vec<i64> {
        let (_directory, mut session, source) = session();
        session.model.host.kernel_release = release.map(str::to_string);
        let id = session.tracepoint_def(
            &format("\tfield:long prev_state;\toffset:8;\tsize:8;\tsigned:1;", print_fmt),
            false,
            source,
        );
        for &bits in bits {
            let payload = payload(9, bits);
            let record = Record { clock_ns: 5, cpu: Some(0), tid: None, pid: None, stack: None, payload: &payload };
            session.tracepoint(id, record);
        }
        let batch = session.tracepoints.take(1).pop().unwrap().1().unwrap();
        let column = batch.column_by_name("prev_state").unwrap().clone();
        column.as_any().downcast_ref::<arrow_array::Int64Array>().unwrap().values().to_vec()
    };
    let v4_4 = r#""%s", __print_flags(REC->prev_state & (2048-1), "|", { 1, "S"} , { 2, "D" }, { 16, "Z" }, { 64, "x" }, { 512, "P" }, { 1024, "N" }), REC->prev_state & 2048 ? "+" : """#;
    assert_eq!(states(None, v4_4, &[1, 64, 1026, 2048]), [1, 16, 128, 256]);
    assert_eq!(states(Some("4.4.0"), "", &[1, 64, 1026, 2048]), [1, 16, 128, 256]);
    assert_eq!(states(None, "", &[1, 16, 64, 128, 256]), [1, 16, 64, 128, 256]);
    assert_eq!(states(Some("6.1.0"), "", &[1, 16, 64, 128, 256]), [1, 16, 64, 128, 256]);
}
