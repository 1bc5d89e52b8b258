/** Java: compiled and interpreted frames, an interface call, a lambda, recursion. */
public class Names {
    interface Price { int cents(int turn); }

    static volatile int sink;

    static int churn(int value, int turns) {
        for (int turn = 0; turn < turns; turn++) value = value * 22695477 + 1;
        return value;
    }

    static int recurse(int depth, int value) {
        return depth == 0 ? churn(value, 2000) : recurse(depth - 1, value) + 1;
    }

    static final class Fixed implements Price {
        public int cents(int turn) { return churn(turn, 1500); }
    }

    public static void main(String[] words) throws Exception {
        long end = System.nanoTime() + Long.parseLong(words[0]) * 1_000_000L;
        Price[] prices = {new Fixed(), turn -> churn(turn, 1000), turn -> recurse(5, turn)};
        while (System.nanoTime() < end) {
            for (int turn = 0; turn < 300; turn++) sink += prices[turn % 3].cents(sink);
            sink += new String("n" + sink).hashCode();
        }
    }
}
