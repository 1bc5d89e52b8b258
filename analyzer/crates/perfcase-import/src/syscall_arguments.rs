//! The arguments of system calls, and the names of their values: schema/syscalls/{arguments,values}.txt.

use hashbrown::HashMap;

/// A form of a call: its arguments and its result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Form {
    /// The condition, if the form is only for a value of an argument: the argument's index, the bits, and their value.
    pub test: Option<(u32, u64, u64)>,
    /// kind:name or kind:name:set of each argument, separated by spaces; `None` where they are unknown.
    pub arguments: Option<&'static str>,
    /// kind or kind:set of the result; `None` for a plain number.
    pub result: Option<&'static str>,
}

/// A name of a value.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The set of names.
    pub set: &'static str,
    /// Its place in the set.
    pub position: u32,
    /// The bits that have the value.
    pub mask: u64,
    /// The value of these bits.
    pub value: u64,
    /// The name.
    pub name: &'static str,
    /// The conventions that have it, or after a `-` those that do not; empty for all.
    abis: &'static str,
}

/// All forms and names.
#[derive(Default)]
pub struct Arguments {
    /// By call, or by call@convention.
    plain: HashMap<&'static str, Form>,
    by_abi: HashMap<(&'static str, &'static str), Form>,
    /// Forms that depend on an argument, by call and convention. The convention is empty if all have the same form.
    tested: HashMap<(&'static str, &'static str), Vec<Form>>,
    values: Vec<Value>,
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
    .unwrap_or_else(|_| panic!("schema/syscalls: {text} is no number"))
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

/// `f:dfd p:filename =f`, the last of which is the result.
fn form(text: &'static str) -> Form {
    let (arguments, result) = match text.rfind('=') {
        Some(at) => (text[..at].trim_end(), Some(&text[at + 1..])),
        None => (text, None),
    };
    Form { test: None, arguments: Some(arguments), result }
}

impl Arguments {
    /// Parse arguments.txt and values.txt, which are part of the program.
    pub fn parse(arguments: &'static str, values: &'static str) -> Arguments {
        let mut all = Arguments::default();
        for line in lines(arguments) {
            let (call, rest) = line.split_once(' ').unwrap_or((line, ""));
            let (call, abis) = call.split_once('@').unwrap_or((call, ""));
            if let Some(tested) = rest.strip_prefix('?') {
                let (test, rest) = tested.split_once(' ').unwrap_or((tested, ""));
                let (what, values) = test.split_once('=').unwrap_or((test, ""));
                let (index, mask) = what.split_once('&').unwrap_or((what, "0xffffffff"));
                let (index, mask) = (number(index) as u32, number(mask));
                let forms =
                    values.split(',').map(|value| Form { test: Some((index, mask, number(value))), ..form(rest) });
                let forms: Vec<_> = forms.collect();
                for abi in abis.split(',') {
                    all.tested.entry((call, abi)).or_default().extend(&forms);
                }
            } else if !abis.is_empty() {
                all.by_abi.extend(abis.split(',').map(|abi| ((call, abi), form(rest))));
            } else {
                all.plain.insert(call, form(rest));
            }
        }
        let (mut set, mut is_whole, mut position) = ("", false, 0);
        for line in lines(values) {
            if let Some(header) = line.strip_prefix('[') {
                let header = header.trim_end_matches(']');
                (set, is_whole) = header.strip_suffix(" =").map_or((header, false), |set| (set, true));
                position = 0;
                continue;
            }
            let mut words = line.splitn(3, ' ');
            let (bits, name, abis) =
                (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
            let (value, mask) = bits.split_once('/').map_or_else(
                || (number(bits), if is_whole { 0xffff_ffff } else { number(bits) }),
                |(value, mask)| (number(value), number(mask)),
            );
            position += 1;
            all.values.push(Value { set, position, mask, value, name, abis });
        }
        all
    }

    /// Gives the form of a call that is independent of values.
    pub fn of(&self, abi: &'static str, call: &'static str) -> Option<&Form> {
        self.by_abi.get(&(call, abi)).or_else(|| self.plain.get(call))
    }

    /// Gives all forms of a call: the general one, and those that depend on an argument.
    pub fn forms(&self, abi: &'static str, call: &'static str) -> impl Iterator<Item = Form> {
        let of_abi = if self.by_abi.contains_key(&(call, abi)) { abi } else { "" };
        let tested = self.tested.get(&(call, of_abi));
        std::iter::once(self.of(abi, call).copied().unwrap_or_default()).chain(tested.into_iter().flatten().copied())
    }

    /// Gives the names of a convention.
    pub fn values(&self, abi: &'static str) -> impl Iterator<Item = &Value> {
        self.values.iter().filter(move |value| {
            let mut abis = value.abis.split(' ');
            match value.abis.as_bytes().first() {
                None => true,
                Some(b'-') => abis.all(|not| not.trim_start_matches('-') != abi),
                Some(_) => abis.any(|one| one == abi),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Arguments, Form};

    fn all() -> Arguments {
        Arguments::parse(
            include_str!("../../../../schema/syscalls/arguments.txt"),
            include_str!("../../../../schema/syscalls/values.txt"),
        )
    }

    #[test]
    fn a_call_has_a_form_for_a_convention_and_for_values_of_an_argument() {
        let all = all();
        let clone = |abi| all.of(abi, "clone").and_then(|form| form.arguments).and_then(|list| list.split(' ').nth(3));
        assert_eq!((clone("x86_64"), clone("aarch64")), (Some("p:child_tidptr"), Some("x:tls")));
        let forms: Vec<_> = all.forms("x86_64", "openat").collect();
        assert_eq!(forms.len(), 2);
        assert_eq!(
            forms[1],
            Form { test: Some((2, 0x40_0040, 0)), arguments: Some("f:dfd p:filename x:flags:open"), result: Some("f") }
        );
        assert_eq!(all.forms("x86_64", "no such call").collect::<Vec<_>>(), [Form::default()]);
        assert_eq!(all.of("x86_64", "fork").map(|form| form.arguments), Some(Some("")));
    }

    #[test]
    fn every_set_that_an_argument_names_is_there_and_used() {
        let all = all();
        let every = all.plain.values().chain(all.by_abi.values()).chain(all.tested.values().flatten());
        let mut named = HashSet::new();
        for form in every {
            let arguments = form.arguments.unwrap_or("").split(' ').filter_map(|item| item.split(':').nth(2));
            named.extend(arguments.chain(form.result.and_then(|result| result.split(':').nth(1))));
        }
        let sets: HashSet<_> = all.values.iter().map(|value| value.set).collect();
        assert_eq!(named, sets);
        let kinds = all.plain.values().flat_map(|form| form.arguments.unwrap_or("").split(' '));
        assert!(
            kinds.filter(|item| !item.is_empty()).all(|item| "fpdluwox-".contains(&item[..1]) && &item[1..2] == ":")
        );
    }

    #[test]
    fn a_value_lies_within_its_mask() {
        assert!(
            all()
                .values
                .iter()
                .all(|value| value.value & !value.mask == 0 && value.mask != 0 && !value.name.is_empty())
        );
    }
}
