"""Records the nouns of the generated catalogue's titles, after a change to its words.

    python -m tests.envs.webshop.record_nouns

needs `pip install 'rollback-gym[webshop]'`.
"""

import sys
from pathlib import Path

from rollback_gym.envs.webshop import generator, nouns


def main() -> None:
    model = nouns.SpacyNouns()
    if model.name != nouns.TableNouns.name:
        sys.exit(f"{nouns.TableNouns.name} is needed; {model.name} is installed.")
    titles = [record["name"] for record in generator.generate().products]
    Path(nouns.__file__).with_name("nouns.txt.z").write_bytes(nouns.write_table(titles, model))


if __name__ == "__main__":
    main()
