"""A process that sends records to a topic by a schedule, whatever becomes of them.

python producer.py SERVERS TOPIC RATE:SECONDS RATE:SECONDS ...

A record's time in the log is its time in the schedule: a producer that is behind does not hide it.
"""

import json
import sys
import time

from confluent_kafka import Producer

EACH = 0.02
"""Seconds between two of its turns."""
PARTITIONS = 2


def send(servers: str, topic: str, steps: list[tuple[float, float]]) -> int:
    """Sends so many records a second, for so many seconds, one step after the other."""
    settings = {
        "bootstrap.servers": servers,
        "linger.ms": 20,
        "queue.buffering.max.messages": 10**6,
    }
    producer = Producer(settings)
    bodies = [json.dumps({"k": i % 5, "v": i * 37 % 101}).encode() for i in range(505)]
    sent, at = 0, time.time()
    for rate, seconds in steps:
        begins, done = at, 0
        while done < rate * seconds:
            due = min(int((time.time() - begins) * rate), int(rate * seconds))
            for i in range(done, due):
                when = round((begins + i / rate) * 1000)
                body = bodies[sent % len(bodies)]
                while True:
                    try:
                        producer.produce(topic, body, partition=sent % PARTITIONS, timestamp=when)
                        break
                    except BufferError:  # the broker is slower: its record comes late, and says so
                        producer.poll(0.1)
                sent += 1
            done = max(done, due)
            producer.poll(0)
            time.sleep(EACH)
        at = begins + seconds
    producer.flush(60)
    return sent


if __name__ == "__main__":
    pairs = (step.split(":") for step in sys.argv[3:])
    send(sys.argv[1], sys.argv[2], [(float(rate), float(length)) for rate, length in pairs])
