-- plain_address: an address and port as the other end has it: an IPv4 address that a socket of IPv6 shows as ::ffff:… (RFC 4291, 2.5.5.2) is that of IPv4
-- takes: address
regexp_replace($address, '^\[::ffff:([0-9.]+)\]:', '\1:')
