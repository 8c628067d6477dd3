"""What the script prints tells how far it is."""

from benchmarks.peers.drivers.cleanrl import Listener


def test_each_line_about_speed_is_a_hundred_steps() -> None:
    told: list[tuple[int, int]] = []
    listener = Listener(1_000, lambda steps, updates: told.append((steps, updates)))
    print("SPS: 50", file=listener)
    print("global_step=1134, episodic_return=[-21.]", file=listener)
    listener.write("SPS")
    assert told == [(1_100, 25)]
    listener.write(": 49\n")
    assert told == [(1_100, 25), (1_200, 50)]


def test_learning_may_start_anywhere_between_two_lines() -> None:
    told: list[tuple[int, int]] = []
    print("SPS: 50", file=Listener(1_050, lambda steps, updates: told.append((steps, updates))))
    assert told == [(1_100, 12)]
