from pathlib import Path

from pipeline.config.overrides import compose
from pipeline.settings import OF_THE_COURSE, as_settings, flat, is_of_the_course, several, shown


def test_settings_of_the_course_are_settings_of_a_run_and_threads_the_only_ones_of_its_topology() -> None:
    names = {name for name, _ in flat(as_settings(compose(["experiment=gorila", "game=Pong"])))}
    assert names | {name.partition(".")[0] for name in names} >= OF_THE_COURSE
    of_topology = {name for name in names if name.startswith("topology.")}
    assert {name for name in of_topology if is_of_the_course(name)} == {"topology.compute_threads"}


def test_who_has_one_word_or_path_need_not_put_it_into_a_list() -> None:
    assert several("a=b") == several(["a=b"]) == ("a=b",)
    assert several(Path("x")) == ("x",) and several((Path("x"), "y")) == ("x", "y")


def test_values_are_shown_as_a_command_line_has_them() -> None:
    assert shown([True, None, {"a": 1.0}]) == "[true, null, {a: 1.0}]"
