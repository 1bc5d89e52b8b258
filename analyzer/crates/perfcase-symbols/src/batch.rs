//! Many objects at once, on all CPUs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::names::{At, Name, names};
use crate::objects::{Missing, Object, Objects};
use crate::placement::Placement;

/// Addresses of one object that want names.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The object's path.
    pub path: Vec<u8>,
    /// Its build id.
    pub build_id: Option<Vec<u8>>,
    /// What the addresses are.
    pub placement: Placement,
    /// The addresses.
    pub addresses: Vec<At>,
}

/// What became of a [`Wanted`].
pub struct Named {
    /// The file that was used.
    pub object: Result<Arc<Object>, Missing>,
    /// A name or the reason for none, for each address.
    pub names: Vec<Result<Name, &'static str>>,
}

/// Names the addresses of many objects, in the order of `wanted`.
pub fn name_all(objects: &Objects, wanted: &[Wanted]) -> Vec<Named> {
    let results: Vec<Mutex<Option<Named>>> = wanted.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((one, place)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            wanted.get(index).zip(results.get(index))
        } {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(name_one(objects, one));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(wanted.len());
    if objects.is_empty() || threads < 2 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }
    let took = results.into_iter().map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner));
    // A thread always fills the places it took.
    took.map(|named| named.unwrap_or(Named { object: Err(Missing::NotInCapture), names: Vec::new() })).collect()
}

fn name_one(objects: &Objects, one: &Wanted) -> Named {
    let none = |reason: &'static str| one.addresses.iter().map(|_| Err(reason)).collect();
    let object = objects.find(&one.path, one.build_id.as_deref());
    let names = match &object {
        Err(missing) => none(missing.reason()),
        // The libraries that read ELF and DWARF are tested against damage; should one panic all the same, an object
        // without names is what that costs.
        Ok(object) => catch_unwind(AssertUnwindSafe(|| names(object, &one.placement, &one.addresses)))
            .unwrap_or_else(|_| none("no symbol table")),
    };
    Named { object, names }
}
