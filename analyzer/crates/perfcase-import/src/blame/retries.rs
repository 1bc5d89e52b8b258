//! Sleeps between two questions to one peer: a program asks, is refused or gets an answer that it cannot use, sleeps, and asks the same again.

/// The most sleeps of a thread that wait for the next question: more of them since the last one are no retry.
const MOST_SLEEPS: usize = 64;

/// A question: its peer, and how many bytes it has. A retry says the same, which has as many.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Question {
    pub(super) peer: u32,
    pub(super) size: i64,
}

/// A sleep between two questions.
struct Pause {
    start: i64,
    end: i64,
    /// The connection of the second one.
    descriptor: u32,
}

/// A sleep of which the next question tells whether it was a pause.
struct Sleep {
    after: Question,
    start: i64,
    end: i64,
}

/// What a thread asks as a client, in the order of time.
#[derive(Default)]
pub(super) struct Retries {
    /// The last question with its descriptor.
    asked: Option<(Question, u32)>,
    /// The last one that was over: answered, refused or given up. One to another end, maybe of a log, changes nothing of it.
    over: Option<Question>,
    sleeps: Vec<Sleep>,
    pauses: Vec<Pause>,
}

impl Retries {
    /// Adds a question. `has_failed`: it was refused at once.
    pub(super) fn ask(&mut self, question: Question, descriptor: u32, has_failed: bool) {
        let pauses = self.sleeps.extract_if(.., |sleep| sleep.after == question);
        self.pauses.extend(pauses.map(|Sleep { start, end, .. }| Pause { start, end, descriptor }));
        self.asked = Some((question, descriptor));
        self.over = self.over.filter(|over| over.peer != question.peer);
        if has_failed {
            self.over(descriptor);
        }
    }

    /// Notes that a question on a descriptor has its answer, or was given up.
    pub(super) fn over(&mut self, descriptor: u32) {
        if let Some((question, _)) = self.asked.filter(|&(_, asked)| asked == descriptor) {
            self.over = Some(question);
        }
    }

    /// Adds a sleep.
    pub(super) fn sleep(&mut self, start: i64, end: i64) {
        if let Some(after) = self.over
            && self.sleeps.len() < MOST_SLEEPS
        {
            self.sleeps.push(Sleep { after, start, end });
        }
    }

    /// Notes that the thread took or ended a piece of work: what it asks later belongs to another one.
    pub(super) fn next_work(&mut self) {
        (self.asked, self.over) = (None, None);
        self.sleeps.clear();
    }

    pub(super) fn settle(&mut self) {
        self.pauses.sort_unstable_by_key(|pause| pause.start);
    }

    /// Gives the connection of the question after the pause that a thread was in at a time.
    pub(super) fn at(&self, time: i64) -> Option<u32> {
        let last = self.pauses[..self.pauses.partition_point(|pause| pause.start <= time)].last();
        last.filter(|pause| pause.end > time).map(|pause| pause.descriptor)
    }

    pub(super) fn forget(&mut self, begin: i64) {
        self.pauses.retain(|pause| pause.end > begin);
        self.sleeps.retain(|sleep| sleep.end > begin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYMENT: Question = Question { peer: 7, size: 22 };

    /// Asks, sleeps from 20 to 50, asks again on descriptor 9.
    fn asked(between: impl Fn(&mut Retries), second: Question) -> Option<u32> {
        let mut retries = Retries::default();
        retries.ask(PAYMENT, 8, false);
        between(&mut retries);
        retries.sleep(20, 50);
        retries.ask(Question { peer: 3, ..PAYMENT }, 4, false);
        retries.ask(second, 9, false);
        retries.settle();
        assert_eq!((retries.at(19), retries.at(50)), (None, None));
        retries.at(20)
    }

    #[test]
    fn a_sleep_between_two_equal_questions_is_a_pause() {
        assert_eq!(asked(|retries| retries.over(8), PAYMENT), Some(9));
        assert_eq!(asked(|retries| retries.ask(PAYMENT, 8, true), PAYMENT), Some(9), "it was refused");
        let logged = |retries: &mut Retries| {
            retries.over(8);
            retries.ask(Question { peer: 1, size: 80 }, 5, false);
        };
        assert_eq!(asked(logged, PAYMENT), Some(9));
        let again = |retries: &mut Retries| {
            retries.over(8);
            retries.ask(PAYMENT, 8, false);
        };
        assert_eq!(asked(again, PAYMENT), None, "the second one has no answer yet");
        assert_eq!(asked(|_| {}, PAYMENT), None, "it sends in portions");
        assert_eq!(asked(|retries| retries.over(5), PAYMENT), None, "another one has its answer");
        assert_eq!(asked(|retries| retries.over(8), Question { size: 23, ..PAYMENT }), None, "it asks something else");
        assert_eq!(asked(|retries| retries.over(8), Question { peer: 6, ..PAYMENT }), None, "it asks another one");
    }

    #[test]
    fn a_pause_is_within_a_piece_of_work() {
        let mut retries = Retries::default();
        retries.ask(PAYMENT, 8, true);
        retries.sleep(20, 50);
        retries.next_work();
        retries.ask(PAYMENT, 9, true);
        retries.settle();
        assert_eq!(retries.at(30), None);
    }

    #[test]
    fn sleeps_beyond_the_bound_and_before_the_window_are_forgotten() {
        let mut retries = Retries::default();
        retries.ask(PAYMENT, 8, true);
        (0..100).for_each(|at| retries.sleep(10 * at, 10 * at + 5));
        retries.ask(PAYMENT, 9, true);
        retries.settle();
        assert_eq!((retries.pauses.len(), retries.at(630), retries.at(640)), (MOST_SLEEPS, Some(9), None));
        retries.forget(600);
        assert_eq!((retries.pauses.len(), retries.at(602)), (4, Some(9)));
    }
}
