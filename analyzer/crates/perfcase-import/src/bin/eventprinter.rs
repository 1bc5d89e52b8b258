//! The child that prints events with libtraceevent, without Python and without limits: for tests of this crate. The
//! product starts `python -m perfcase.case.eventprinter`, which limits itself first.

fn main() -> std::io::Result<()> {
    perfcase_import::traceevent::child::run(&mut std::io::stdin().lock(), &mut std::io::stdout().lock())
}
