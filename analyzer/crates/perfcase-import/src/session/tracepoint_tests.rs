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

#[test]
fn formats_of_one_table_take_turns_and_a_short_record_keeps_its_first_fields() {
    let (_directory, mut session, source) = session();
    let x = "\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n";
    let y = "\tfield:__data_loc char[] y;\toffset:12;\tsize:4;\tsigned:0;";
    let one = session.tracepoint_def(&format(x, ""), false, source);
    let both = session.tracepoint_def(&format(&format!("{x}{y}"), ""), false, source);
    let payload = |x: i32, place: u32| [&[0; 8][..], &x.to_le_bytes(), &place.to_le_bytes(), b"text\0\0"].concat();
    let whole = payload(7, 5 << 16 | 16);
    let beyond = payload(8, 9 << 16 | 16);
    for (id, payload) in [(one, &whole[..12]), (both, &whole), (both, &beyond), (one, &whole[..8]), (both, &whole)] {
        session.tracepoint(id, Record { clock_ns: 5, cpu: None, tid: None, pid: None, stack: None, payload });
    }
    assert_eq!(session.tracepoints.definitions.iter().map(|of| of.short_count).collect::<Vec<_>>(), [1, 1]);
    let batch = session.tracepoints.take(1).pop().unwrap().1().unwrap();
    let x = batch.column_by_name("x").unwrap().as_any().downcast_ref::<arrow_array::Int32Array>().unwrap();
    assert_eq!(x.iter().collect::<Vec<_>>(), [Some(7), Some(7), Some(8), None, Some(7)]);
    let y = batch.column_by_name("y").unwrap().as_any();
    let y = y.downcast_ref::<arrow_array::DictionaryArray<arrow_array::types::Int32Type>>().unwrap();
    let y = y.downcast_dict::<arrow_array::StringArray>().unwrap();
    assert_eq!(y.into_iter().collect::<Vec<_>>(), [None, Some("text"), None, None, Some("text")]);
}

#[test]
fn large_payloads_do_not_wait_for_many_rows() {
    let (_directory, mut session, source) = session();
    let id = session.tracepoint_def(&format("", ""), false, source);
    let payload = vec![0; 1 << 20];
    let mut most = 0;
    for _ in 0..100 {
        session.tracepoint(id, Record { clock_ns: 5, cpu: None, tid: None, pid: None, stack: None, payload: &payload });
        most = most.max(session.tracepoints.tables.iter().map(|table| table.payload_bytes()).max().unwrap_or(0));
    }
    assert!(most < 40 << 20, "{most}");
    assert_eq!(session.close().unwrap().get("sched_switch"), Some(&100));
}

#[test]
fn calls_that_have_no_row_of_their_own_do_not_stay_in_memory() {
    let (_directory, mut session, source) = session();
    let fields = "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;";
    let format =
        EventFormat { system: "raw_syscalls".into(), name: "sys_exit".into(), ..format(fields, "\"%ld\", REC->ret") };
    let id = session.tracepoint_def(&format, false, source);
    let payload = [payload(7, 3), 0_u64.to_le_bytes().to_vec()].concat();
    for clock_ns in 0..200_000 {
        session
            .tracepoint(id, Record { clock_ns, cpu: Some(0), tid: Some(7), pid: None, stack: None, payload: &payload });
    }
    assert!(session.timelines.of(source).syscalls.in_memory() < 70_000);
    session.write_timelines();
    assert_eq!(session.close().unwrap()["syscall"], 200_000);
}
