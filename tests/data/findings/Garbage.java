import java.util.ArrayList;
import java.util.List;

/** Keeps some megabytes and replaces them one by one for two seconds. With a heap that is hardly larger, the collector works all the time. */
class Garbage {
    public static void main(String[] args) {
        List<byte[]> kept = new ArrayList<>();
        int count = Integer.parseInt(args[0]) * 1024;
        for (int i = 0; i < count; i++) {
            kept.add(new byte[1000]);
        }
        long end = System.nanoTime() + 2_000_000_000L;
        for (int i = 0; System.nanoTime() < end; i = (i + 7919) % count) {
            kept.set(i, new byte[1000]);
        }
    }
}
