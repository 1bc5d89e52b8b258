//! Names all frames at the end: from the kernel's list, object files, maps of generated code, and records.

use hashbrown::HashMap;
use perfcase_archive::Issue;
use perfcase_symbols::{At, INCOMPLETE, Kallsyms, Missing, Name, PerfMap, Wanted, name_all};

use super::Session;
use crate::model::code::NO_CODE;
use crate::model::functions::Functions;
use crate::model::maps::{DsoId, Origin, SEVERAL_FILES};
use crate::model::stacks::{EndReason, Frame, FrameId};
use crate::tables::{FrameRow, StackRow};

/// A frame's name, or the reason for none.
type Naming = Result<Name, &'static str>;

fn plain(symbol: &str, offset_bytes: Option<u64>, source: &'static str) -> Name {
    Name { symbol: symbol.to_string(), offset_bytes, source, ..Name::default() }
}

impl Session {
    /// Writes `dso`, `frame` and `stack`.
    pub(crate) fn write_stacks(&mut self, kallsyms: Option<&Kallsyms>) {
        let mut origins = vec![Origin::default(); self.model.maps.dsos.len()];
        let mut names: Vec<Option<Naming>> = vec![None; self.model.stacks.frames.len()];
        let mut files: HashMap<DsoId, Vec<FrameId>> = HashMap::new();
        let mut generated: HashMap<i32, Vec<FrameId>> = HashMap::new();
        for (id, frame) in self.model.stacks.frames.iter().enumerate() {
            let told = self.name_at_hand(id as FrameId, frame, kallsyms);
            let (None, Some(dso)) = (&told, frame.dso) else {
                if let (Some(Ok(name)), Some(dso)) = (&told, frame.dso) {
                    origins[dso as usize].symbols.get_or_insert_with(|| name.source.to_string());
                }
                // The user may give files of the kernel and its modules. They name code that the kernel's list does not
                // name, and have lines and inlined functions.
                if let (Some(dso), true) = (frame.dso, frame.is_kernel && frame.code == NO_CODE)
                    && !self.model.stacks.recorded_names.contains_key(&(id as FrameId))
                    && self.objects.has_dirs()
                    && self.model.maps.placement(dso).is_some()
                {
                    files.entry(dso).or_default().push(id as FrameId);
                }
                names[id] = told;
                continue;
            };
            if self.model.maps.is_several(dso) {
                names[id] = Some(Err(SEVERAL_FILES));
                origins[dso as usize].missing_reason = Some(SEVERAL_FILES.to_string());
                continue;
            }
            match self.model.maps.dsos[dso as usize].pid {
                Some(pid) => generated.entry(pid).or_default().push(id as FrameId),
                None => files.entry(dso).or_default().push(id as FrameId),
            }
        }
        self.name_generated(&generated, &mut names, &mut origins);
        let mut functions = Functions::default();
        for (dso, count) in self.name_files(files, &mut names, &mut origins, &mut functions) {
            let path = String::from_utf8_lossy(&self.model.maps.dsos[dso as usize].path).into_owned();
            let issue = Issue::warning("debug_info_incomplete", format!("{count} addresses: {INCOMPLETE}"));
            let hint = "perfcase symbolize --debug-dir DIR with the debug file as it was built";
            self.issue(issue.of(path).count(count).hint(hint));
        }
        self.name_as_recorded(&mut names, &mut origins);
        for (id, origin) in origins.iter_mut().enumerate().filter(|(_, origin)| origin.symbols.is_none()) {
            let dso = &self.model.maps.dsos[id];
            let left_out = self.objects.left_out(&dso.path, dso.build_id.as_deref());
            origin.missing_reason = left_out.map(str::to_string).or(origin.missing_reason.take());
        }
        self.model.maps.write(&mut self.sink.tables, &origins);
        functions.write(&mut self.sink.tables);
        self.write_frames(&names);
    }

    /// Names frames without files: by the input, the kernel's list, records of code.
    fn name_at_hand(&self, id: FrameId, frame: &Frame, kallsyms: Option<&Kallsyms>) -> Option<Naming> {
        if let Some((name, offset)) = self.model.stacks.recorded_names.get(&id) {
            return Some(name.as_deref().map(|name| plain(name, *offset, "text")).ok_or("not named in the text"));
        }
        if let Some(code) =
            Some(frame.code).filter(|&code| code != NO_CODE).and_then(|id| self.model.maps.codes.get(id))
        {
            let mut name = plain(&code.name, Some(frame.address.wrapping_sub(code.start)), code.source);
            if let Some(line) = code.line(frame.place()) {
                (name.file, name.line) = (Some(line.file.to_string()), Some(line.line));
            }
            return Some(Ok(name));
        }
        if frame.is_kernel {
            let found = kallsyms.map(|symbols| symbols.find(frame.address).ok_or("not in kallsyms"));
            let found = found.unwrap_or(Err("no kallsyms in the capture"));
            return Some(found.map(|(name, offset)| plain(name, Some(offset), "kallsyms")));
        }
        frame.dso.is_none().then_some(Err("no mapping covers the address"))
    }

    /// Names generated code of processes by the maps of their runtimes.
    fn name_generated(
        &self,
        generated: &HashMap<i32, Vec<FrameId>>,
        names: &mut [Option<Naming>],
        origins: &mut [Origin],
    ) {
        for (pid, frames) in generated {
            let file = self.objects.perf_map(*pid);
            let map = file.as_ref().ok().map(|(content, _)| PerfMap::parse(content));
            for &id in frames {
                let frame = &self.model.stacks.frames[id as usize];
                let found = map.as_ref().map(|map| map.find(frame.place()).ok_or("no symbol covers the address"));
                let found = found.unwrap_or(Err("file not in capture"));
                let named =
                    found.map(|(name, offset)| plain(name, Some(offset + u64::from(frame.is_return)), "perf-map"));
                if let Some(origin) = frame.dso.and_then(|dso| origins.get_mut(dso as usize)) {
                    match (&named, &file) {
                        (Ok(_), Ok((_, from))) => {
                            origin.symbols.get_or_insert_with(|| from.clone());
                        }
                        (Err(_), Err(Some(why))) => {
                            origin.missing_reason.get_or_insert_with(|| why.to_string());
                        }
                        (Err(why), _) => {
                            origin.missing_reason.get_or_insert_with(|| why.to_string());
                        }
                        _ => {}
                    }
                }
                names[id as usize] = Some(named);
            }
        }
    }

    /// Names code of files. Returns the files that have unreadable debug information at some addresses, and the number
    /// of these addresses.
    fn name_files(
        &self,
        files: HashMap<DsoId, Vec<FrameId>>,
        names: &mut [Option<Naming>],
        origins: &mut [Origin],
        functions: &mut Functions,
    ) -> Vec<(DsoId, u64)> {
        let mut incomplete = Vec::new();
        let mut files: Vec<(DsoId, Vec<FrameId>)> = files.into_iter().collect();
        // The largest objects come first, so that all threads end at about the same time.
        files.sort_by_key(|(dso, frames)| (std::cmp::Reverse(frames.len()), *dso));
        let wanted = |(dso, frames): &(DsoId, Vec<FrameId>)| {
            let at = |id: &FrameId| {
                let Frame { address, is_return, .. } = self.model.stacks.frames[*id as usize];
                At { address, is_return }
            };
            let addresses = frames.iter().map(at).collect();
            let placement = self.model.maps.placement(*dso).unwrap_or_default();
            let dso = &self.model.maps.dsos[*dso as usize];
            Wanted { path: dso.path.to_vec(), build_id: dso.build_id.clone(), placement, addresses }
        };
        let wanted: Vec<Wanted> = files.iter().map(wanted).collect();
        for ((dso, frames), named) in files.iter().zip(name_all(&self.objects, &wanted)) {
            named.functions.into_iter().for_each(|code| functions.add(*dso, code));
            let origin = &mut origins[*dso as usize];
            let have_reasons = frames.iter().all(|&id| names[id as usize].is_some());
            if have_reasons && matches!(named.object, Err(Missing::NotInCapture)) {
                continue;
            }
            let count = named.names.iter().flatten().filter(|name| name.is_incomplete).count() as u64;
            incomplete.extend((count > 0).then_some((*dso, count)));
            let mut is_used = false;
            let mut why = None;
            for (&id, name) in frames.iter().zip(named.names) {
                let known = &mut names[id as usize];
                // Names of the kernel's list stay if the file has no more.
                let stays = matches!(known, Some(Ok(_))) && !name.as_ref().is_ok_and(Name::has_source);
                if !stays {
                    is_used |= name.is_ok();
                    why = why.or(name.as_ref().err().copied());
                    *known = Some(name);
                }
            }
            match named.object {
                Ok(object) if is_used => origin.symbols = Some(object.origin.clone()),
                Ok(_) => origin.missing_reason = why.map(str::to_string),
                Err(missing) => origin.missing_reason = Some(missing.reason().to_string()),
            }
        }
        incomplete
    }

    /// Names the remaining frames by the symbols in the recording.
    fn name_as_recorded(&self, names: &mut [Option<Naming>], origins: &mut [Origin]) {
        if self.model.file_symbols.is_empty() {
            return;
        }
        for (frame, named) in self.model.stacks.frames.iter().zip(names) {
            let (Some(dso), false) = (frame.dso, matches!(named, Some(Ok(_)))) else { continue };
            let file = self.model.file_symbols.get(&*self.model.maps.dsos[dso as usize].path);
            if let Some((name, offset)) = file.and_then(|file| file.find(frame.place())) {
                *named = Some(Ok(plain(name, Some(offset + u64::from(frame.is_return)), "simpleperf")));
                let origin = &mut origins[dso as usize];
                origin.symbols.get_or_insert_with(|| "the recording itself (simpleperf)".to_string());
            }
        }
    }

    /// Writes the rows of frames and callchains. Inlined functions follow all others.
    fn write_frames(&mut self, names: &[Option<Naming>]) {
        let (stacks, tables) = (&self.model.stacks, &mut self.sink.tables);
        for (id, (frame, name)) in stacks.frames.iter().zip(names).enumerate() {
            let name = name.as_ref().unwrap_or(&Err("no mapping covers the address"));
            let found = name.as_ref().ok();
            tables.frame.push(FrameRow {
                frame_id: id as FrameId,
                dso_id: frame.dso,
                address: frame.address,
                is_kernel: frame.is_kernel,
                symbol: found.map(|name| name.symbol.as_str()),
                symbol_offset_bytes: found.and_then(|name| name.offset_bytes),
                missing_reason: name.as_ref().err().copied(),
                source_file: found.and_then(|name| name.file.as_deref()),
                source_line: found.and_then(|name| name.line),
                is_inlined: false,
                is_return_address: frame.is_return,
                symbol_source: found.map(|name| name.source),
            });
        }
        let mut next = stacks.frames.len() as FrameId;
        let mut inlined: HashMap<FrameId, std::ops::Range<FrameId>> = HashMap::new();
        for (id, name) in names.iter().enumerate() {
            let Some(Ok(name)) = name else { continue };
            let frame = &stacks.frames[id];
            for place in &name.inlined {
                tables.frame.push(FrameRow {
                    frame_id: next,
                    dso_id: frame.dso,
                    address: frame.address,
                    is_kernel: frame.is_kernel,
                    symbol: place.function.as_deref(),
                    symbol_offset_bytes: None,
                    missing_reason: None,
                    source_file: place.file.as_deref(),
                    source_line: place.line,
                    is_inlined: true,
                    is_return_address: frame.is_return,
                    symbol_source: Some("dwarf"),
                });
                inlined.entry(id as FrameId).or_insert(next..next).end = next + 1;
                next += 1;
            }
        }
        let mut expanded: Vec<FrameId> = Vec::new();
        for (id, stack) in stacks.stacks.iter().enumerate() {
            let (mut frame_ids, end) = stack.of(&stacks.members);
            let mut kernel_depth = stack.kernel_depth;
            if frame_ids.iter().any(|frame| inlined.contains_key(frame)) {
                expanded.clear();
                for (index, frame) in frame_ids.iter().enumerate() {
                    expanded.extend(inlined.get(frame).cloned().into_iter().flatten());
                    expanded.push(*frame);
                    if index < stack.kernel_depth as usize {
                        kernel_depth = expanded.len() as u32;
                    }
                }
                frame_ids = &expanded;
            }
            tables.stack.push(StackRow {
                stack_id: id as u32,
                frame_ids,
                depth: frame_ids.len() as u32,
                kernel_depth,
                end_reason: (end != EndReason::NONE).then(|| stacks.reason(end)),
            });
        }
    }
}
