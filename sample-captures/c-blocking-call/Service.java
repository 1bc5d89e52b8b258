import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.WorkerExecutor;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.client.WebClient;
import io.vertx.ext.web.client.WebClientOptions;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * An HTTP service on two event loops. A request is handled by one of eight executor threads, which talk to PostgreSQL. A POST
 * also asks service B for a price: through the event loops, and its executor thread blocks until B's answer has come.
 *
 * usage: Service service PORT PORT_OF_B JDBC_URL | b PORT MILLISECONDS | load GET|POST PORT SECONDS
 */
public final class Service {
    private static final int EVENT_LOOPS = 2;
    private static final int EXECUTORS = 8;
    private static final int CLIENTS = 12;
    private static final int PAUSE_MS = 100;

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "service" -> service(Integer.parseInt(args[1]), Integer.parseInt(args[2]), args[3]);
            case "b" -> serviceB(Integer.parseInt(args[1]), Integer.parseInt(args[2]));
            default -> load(args[1], Integer.parseInt(args[2]), Double.parseDouble(args[3]));
        }
    }

    private static void service(int port, int portOfB, String database) {
        Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(EVENT_LOOPS));
        WorkerExecutor executors = vertx.createSharedWorkerExecutor("executor", EXECUTORS);
        WebClient b = WebClient.create(vertx, new WebClientOptions().setMaxPoolSize(EXECUTORS));
        ThreadLocal<Connection> connection = ThreadLocal.withInitial(() -> connect(database));
        Router router = Router.router(vertx);
        router.get("/orders").handler(request -> executors
                .executeBlocking(() -> readOrder(connection.get()), false)
                .onSuccess(request::end).onFailure(request::fail));
        router.post("/orders").handler(request -> executors
                .executeBlocking(() -> addOrder(connection.get(), priceFrom(b, portOfB)), false)
                .onSuccess(request::end).onFailure(request::fail));
        // an instance on each event loop
        for (int i = 0; i < EVENT_LOOPS; i++) {
            vertx.deployVerticle(new io.vertx.core.AbstractVerticle() {
                @Override
                public void start() {
                    vertx.createHttpServer().requestHandler(router).listen(port);
                }
            });
        }
    }

    /** What makes a POST slow: the thread sleeps until an event loop has B's answer. */
    private static int priceFrom(WebClient b, int port) throws Exception {
        return Integer.parseInt(b.get(port, "127.0.0.1", "/price").send().toCompletionStage().toCompletableFuture().get().bodyAsString());
    }

    private static Connection connect(String database) {
        try {
            return DriverManager.getConnection(database);
        } catch (SQLException error) {
            throw new IllegalStateException(error);
        }
    }

    private static String readOrder(Connection connection) throws SQLException {
        try (var query = connection.prepareStatement("SELECT price FROM orders WHERE id = ?")) {
            query.setInt(1, ThreadLocalRandom.current().nextInt(1, 1000));
            try (var rows = query.executeQuery()) {
                rows.next();
                return rows.getString(1);
            }
        }
    }

    private static String addOrder(Connection connection, int price) throws SQLException {
        try (var query = connection.prepareStatement("INSERT INTO orders (price) VALUES (?)")) {
            query.setInt(1, price);
            query.executeUpdate();
            return "ordered";
        }
    }

    private static void serviceB(int port, int milliseconds) {
        Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
        vertx.createHttpServer()
                .requestHandler(request -> vertx.setTimer(milliseconds, timer -> request.response().end("995")))
                .listen(port);
    }

    private static void load(String method, int port, double seconds) throws Exception {
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/orders"))
                .method(method, HttpRequest.BodyPublishers.noBody()).build();
        long end = System.nanoTime() + (long) (seconds * 1e9);
        AtomicLong count = new AtomicLong();
        AtomicLong total = new AtomicLong();
        List<Thread> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            Thread thread = new Thread(() -> {
                try {
                    while (System.nanoTime() < end) {
                        long start = System.nanoTime();
                        int status = client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
                        if (status != 200) {
                            throw new IllegalStateException("status " + status);
                        }
                        total.addAndGet(System.nanoTime() - start);
                        count.incrementAndGet();
                        Thread.sleep(PAUSE_MS);
                    }
                } catch (Exception error) {
                    error.printStackTrace();
                    System.exit(1);
                }
            });
            thread.start();
            clients.add(thread);
        }
        for (Thread thread : clients) {
            thread.join();
        }
        System.out.printf("%s: %d answers, %.1f ms each%n", method, count.get(), total.get() / 1e6 / Math.max(1, count.get()));
    }
}
