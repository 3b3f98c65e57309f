import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/**
 * An application that was failed over: what MirrorMaker 2's client says of a cluster, and each group's records from its
 * translated position on.
 *
 * Arguments: bootstrap servers, source alias. Input: groups, one a line. Prints one fact a line, its fields separated
 * by tabs. Input and output are UTF-8, whatever the machine's locale is.
 */
public final class RemoteClusters {
    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> target = new HashMap<>();
        target.put("bootstrap.servers", arguments[0]);
        String alias = arguments[1];
        try (MirrorClient client = new MirrorClient(target)) {
            say("upstream", client.upstreamClusters());
            say("checkpoints", client.checkpointTopics());
            say("heartbeats", client.heartbeatTopics());
            say("remote", client.remoteTopics(alias));
            Set<String> asked = new TreeSet<>(client.upstreamClusters());
            asked.add("nowhere");
            for (String upstream : asked) {
                OUT.println("hops\t" + upstream + "\t" + client.replicationHops(upstream));
            }
        }
        for (String group : new String(System.in.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
            Map<TopicPartition, OffsetAndMetadata> positions =
                RemoteClusterUtils.translateOffsets(target, alias, group, LIMIT);
            for (Map.Entry<TopicPartition, OffsetAndMetadata> each : positions.entrySet()) {
                OUT.println(String.join("\t", "offset", group, each.getKey().topic(),
                    "" + each.getKey().partition(), "" + each.getValue().offset(), each.getValue().metadata()));
            }
            goOn(target, group, positions);
        }
    }

    private static void say(String what, Iterable<String> names) {
        Set<String> sorted = new TreeSet<>();
        names.forEach(sorted::add);
        OUT.println(what + "\t" + String.join("\t", sorted));
    }

    /** Assigns the partitions, seeks to the positions, and reads to the end. */
    private static void goOn(
            Map<String, Object> target, String group, Map<TopicPartition, OffsetAndMetadata> positions) {
        Map<String, Object> settings = new HashMap<>(target);
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "none");
        long deadline = System.nanoTime() + LIMIT.toNanos();
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(positions.keySet());
            positions.forEach((part, position) -> consumer.seek(part, position.offset()));
            Map<TopicPartition, Long> ends = consumer.endOffsets(positions.keySet());
            List<TopicPartition> left = new ArrayList<>(positions.keySet());
            while (!left.isEmpty()) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("the end of " + left + " was not reached");
                }
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    OUT.println(String.join("\t", "record", group, record.topic(),
                        "" + record.partition(), "" + record.offset(), record.value()));
                }
                left.removeIf(part -> consumer.position(part) >= ends.get(part));
            }
        }
    }

    private RemoteClusters() { }
}
