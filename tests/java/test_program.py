"""Java programs of the tests: compiled once, run, and their faults told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.java.program import compile_java

pytestmark = pytest.mark.broker

PROGRAM = """
public class Adder {
    public static void main(String[] numbers) {
        int sum = 0;
        for (String number : numbers) sum += Integer.parseInt(number);
        System.out.println("sum\\n" + sum);
    }
}
"""


def test_a_program(kafka_folder: Path) -> None:
    """It is compiled once, takes arguments and gives its lines; a failure tells its error."""
    source = kafka_folder / "Adder.java"
    source.write_text(PROGRAM, encoding="utf-8")
    program = compile_java(source, kafka_folder / "classes")
    assert program.run("1", "2", "3") == ["sum", "6"]
    source.write_text("nothing that compiles", encoding="utf-8")
    assert compile_java(source, kafka_folder / "classes") == program
    with pytest.raises(AssertionError, match="NumberFormatException"):
        program.run("one")


def test_a_program_that_is_wrong(kafka_folder: Path) -> None:
    """What the compiler says of a wrong program is the error."""
    source = kafka_folder / "Adder.java"
    source.write_text(PROGRAM.replace("int sum", "String sum"), encoding="utf-8")
    with pytest.raises(AssertionError, match="cannot convert from int to String"):
        compile_java(source, kafka_folder / "classes")
