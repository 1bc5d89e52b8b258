//! The events of a recording, and which of them a record belongs to.

use hashbrown::HashMap;

use super::attr::Attr;
use super::bytes::ByteOrder;
use super::record::{RecordHeader, kind};
use super::sample::Plan;

/// An event that was recorded.
#[derive(Clone, Debug)]
pub struct Event {
    /// What perf asked of the kernel.
    pub attr: Attr,
    /// The places of its samples' fields.
    pub plan: Plan,
    /// The ids in its records: one for each CPU and thread.
    pub ids: Vec<u64>,
    /// Its name where the file has it.
    pub name: Option<String>,
}

/// Events by id, and the places of the id and the time in a record.
#[derive(Debug)]
pub struct Events {
    order: ByteOrder,
    list: Vec<Event>,
    by_id: HashMap<u64, u32>,
    sample_time: Place,
    trailer_time: Place,
    sample_id: Option<usize>,
    trailer_id: Option<usize>,
}

/// The place of a field if it is the same for all events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Nowhere,
    At(usize),
    ByEvent,
}

impl Events {
    /// Begins without events.
    pub fn new(order: ByteOrder) -> Events {
        Events {
            order,
            list: Vec::new(),
            by_id: HashMap::new(),
            sample_time: Place::Nowhere,
            trailer_time: Place::Nowhere,
            sample_id: None,
            trailer_id: None,
        }
    }

    /// Gives the events in the order of the file.
    pub fn list(&self) -> &[Event] {
        &self.list
    }

    /// Gives the event of this number.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Event> {
        self.list.get(index)
    }

    /// Adds an event.
    pub fn add(&mut self, attr: Attr, ids: Vec<u64>) {
        let index = self.list.len() as u32;
        for &id in &ids {
            self.by_id.insert(id, index);
        }
        let plan = Plan::new(&attr, self.order);
        self.sample_id = self.sample_id.or(plan.id_offset());
        self.trailer_id = self.trailer_id.or(plan.trailer_id_offset());
        let is_first = self.list.is_empty();
        self.sample_time = self.sample_time.agreed(is_first, plan.time_offset());
        self.trailer_time = self.trailer_time.agreed(is_first, plan.trailer_time_offset());
        self.list.push(Event { attr, plan, ids, name: None });
    }

    /// Names an event. It is known by one of its ids, or by its number in the file where there are no ids.
    pub fn set_name(&mut self, id: Option<u64>, index: usize, name: &str) {
        let index = id.and_then(|id| self.by_id.get(&id).map(|&i| i as usize)).unwrap_or(index);
        if let Some(event) = self.list.get_mut(index) {
            event.name = Some(name.to_string());
        }
    }

    /// Adds an id that is not in the list of its attribute.
    pub fn add_id(&mut self, id: u64, index: usize) {
        if let Some(event) = self.list.get_mut(index)
            && !self.by_id.contains_key(&id)
        {
            event.ids.push(id);
            self.by_id.insert(id, index as u32);
        }
    }

    /// Gives the event of this id.
    #[inline]
    pub fn by_id(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).map(|&index| index as usize)
    }

    /// Tells whether there are several events and no ids that tell them apart.
    pub fn are_ambiguous(&self) -> bool {
        self.list.len() > 1 && (self.sample_id.is_none() || self.by_id.is_empty())
    }

    /// Gives the event of a record by its body; `None` when no event has its id.
    #[inline]
    pub fn of_record(&self, header: RecordHeader, body: &[u8]) -> Option<usize> {
        if self.list.len() <= 1 {
            return (!self.list.is_empty()).then_some(0);
        }
        let at = if header.kind == kind::SAMPLE {
            self.sample_id
        } else {
            self.trailer_id.and_then(|from_end| body.len().checked_sub(from_end))
        };
        let Some(at) = at else { return Some(0) };
        match self.order.u64(body, at)? {
            // Records that perf makes itself have no id: they have the layout of the first event.
            0 => Some(0),
            id => self.by_id(id),
        }
    }

    /// Gives the places of the times.
    pub(super) fn time_places(&self) -> (Place, Place) {
        (self.sample_time, self.trailer_time)
    }

    /// Tells whether each record has the same time as when the places were these, whatever came since.
    pub(super) fn have_times_as(&self, places: (Place, Place)) -> bool {
        places == self.time_places() && ![places.0, places.1].contains(&Place::ByEvent)
    }

    /// Gives the time of a record in ns; `None` where it has none.
    #[inline]
    pub fn time(&self, header: RecordHeader, body: &[u8]) -> Option<u64> {
        let is_sample = header.kind == kind::SAMPLE;
        let at = match if is_sample { self.sample_time } else { self.trailer_time } {
            Place::Nowhere => return own_time(self.order, header, body),
            Place::At(at) => at,
            Place::ByEvent => {
                let plan = &self.list[self.of_record(header, body)?].plan;
                if is_sample { plan.time_offset()? } else { plan.trailer_time_offset()? }
            }
        };
        self.order.u64(body, if is_sample { at } else { body.len().checked_sub(at)? })
    }
}

/// Gives the time in the fields of a record without a trailer (recordings without sample_id_all, before Linux 2.6.38).
fn own_time(order: ByteOrder, header: RecordHeader, body: &[u8]) -> Option<u64> {
    match header.kind {
        kind::FORK | kind::EXIT => order.u64(body, 16),
        kind::THROTTLE | kind::UNTHROTTLE => order.u64(body, 0),
        _ => None,
    }
}

impl Place {
    /// Joins the place of a field for the events so far and for one more.
    fn agreed(self, is_first: bool, next: Option<usize>) -> Place {
        let next = next.map_or(Place::Nowhere, Place::At);
        if is_first || self == next { next } else { Place::ByEvent }
    }
}
