//! Names the addresses of many objects at once, on all CPUs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::code::Code;
use crate::names::{At, Name, names_and_code};
use crate::objects::{Missing, Object, Objects};
use crate::placement::Placement;

/// The addresses of one object that need names.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The object's path.
    pub path: Vec<u8>,
    /// Its build ID.
    pub build_id: Option<Vec<u8>>,
    /// What the addresses are.
    pub placement: Placement,
    /// The addresses.
    pub addresses: Vec<At>,
}

/// The result for a [`Wanted`].
pub struct Named {
    /// The file that was used.
    pub object: Result<Arc<Object>, Missing>,
    /// For each address a name, or the reason why there is none.
    pub names: Vec<Result<Name, &'static str>>,
    /// The functions that have these addresses, with their code.
    pub functions: Vec<Code>,
}

/// Names the addresses of many objects. The results have the order of `wanted`.
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
    // A thread always fills the places that it took.
    took.map(|named| {
        named.unwrap_or(Named { object: Err(Missing::NotInCapture), names: Vec::new(), functions: Vec::new() })
    })
    .collect()
}

fn name_one(objects: &Objects, one: &Wanted) -> Named {
    let none = |reason: &'static str| (one.addresses.iter().map(|_| Err(reason)).collect(), Vec::new());
    let object = objects.find(&one.path, one.build_id.as_deref());
    let (names, functions) = match &object {
        Err(missing) => none(missing.reason()),
        // The libraries that read ELF and DWARF are tested against damage. If one of them panics nevertheless, the only
        // loss is an object without names.
        Ok(object) => catch_unwind(AssertUnwindSafe(|| names_and_code(object, &one.placement, &one.addresses)))
            .unwrap_or_else(|_| none("no symbol table")),
    };
    Named { object, names, functions }
}
