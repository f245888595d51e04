"""The benchmark's own Kafka broker: a thin layer over tests/services/kafka/kafka.sh and kcat."""
import os
import pathlib
import subprocess

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "services" / "kafka" / "kafka.sh"
TOPIC_COMMAND = "org.apache.kafka.tools.TopicCommand"


class Broker:
    """Runs from construction to close(). Its data is removed at both ends."""

    def __init__(self, data):
        self.environment = dict(os.environ, KAFKA_DATA=str(data), KAFKA_HEAP="1g")
        self._script("start", "--fresh")
        self.address = self._script("address").strip()

    def close(self):
        self._script("clean")

    def create_topic(self, name, partitions):
        """Its messages carry the time at which the broker appended them."""
        self._script("topic", name, str(partitions), "--config", "message.timestamp.type=LogAppendTime")

    def delete_topic(self, name):
        self._script("tool", TOPIC_COMMAND, "--bootstrap-server", self.address, "--delete", "--topic", name)

    def dump(self, topic, path):
        """Writes the values of all committed messages to a file, one a line."""
        with open(path, "wb") as out:
            subprocess.run(self._consume(topic) + ["-f", "%s\\n"], stdout=out, check=True)

    def first_append_s(self, topic):
        """When the topic's first message was appended (Unix time in seconds); None while it is empty."""
        first = subprocess.run(self._consume(topic) + ["-c", "1", "-f", "%T"], stdout=subprocess.PIPE, check=True).stdout
        return int(first) / 1000 if first else None

    def _consume(self, topic):
        committed = ["-X", "isolation.level=read_committed"]
        return ["kcat", "-b", self.address, "-C", "-t", topic, "-o", "beginning", "-e", "-q", *committed]

    def _script(self, *arguments):
        run = subprocess.run([SCRIPT, *arguments], env=self.environment, capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError(f"kafka.sh {' '.join(arguments)}: {run.stderr or run.stdout}")
        return run.stdout
