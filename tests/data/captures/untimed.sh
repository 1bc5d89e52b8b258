spin() { for ((i = 0; i < $1; i++)); do :; done; }
spin 60000
(spin 30000; exec awk 'BEGIN { for (i = 0; i < 3e6; i++); }') &
(spin 20000; printf 'two words' > /proc/self/comm; spin 30000; exec sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done')
wait
spin 10000
exec seq -f %g 300000 > /dev/null
