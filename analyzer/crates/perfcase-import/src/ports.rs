//! Which end of a connection serves, as far as its ports tell.

/// The first port that Linux gives a socket that asks for none (net.ipv4.ip_local_port_range). `schema/kit/other_end.sql` has it, too.
const FIRST_OUTGOING_PORT: u16 = 32_768;

/// Tells whether the end with the port `mine` serves; `None` if the ports do not tell.
pub(crate) fn serves(mine: u16, theirs: u16) -> Option<bool> {
    let is_low = |port: u16| port < FIRST_OUTGOING_PORT;
    (is_low(mine) != is_low(theirs)).then_some(is_low(mine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_told_by_its_port() {
        assert_eq!(
            [serves(443, 40_000), serves(32_767, 32_768), serves(32_768, 443)],
            [Some(true), Some(true), Some(false)]
        );
        assert_eq!([serves(40_000, 50_000), serves(80, 443)], [None, None]);
    }
}
