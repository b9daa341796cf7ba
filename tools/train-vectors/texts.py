"""The training texts: glosses and examples of WordNet, and operations described by botocore."""

import gzip
import html
import json
import random
import re
import tarfile
import zipfile

COUNTS = {"glosses": 24_000, "operations": 8_000}
MAX_GLOSS = 220
MAX_OPERATION = 320


def split_name(name):
    """Splits a name: ListAccessKeys becomes List Access Keys."""
    return re.sub(r"[_\-./]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name))


def read_glosses(path):
    """Each entry of WordNet with its definition, and each of its examples separately."""
    texts = []
    with tarfile.open(path) as package:
        for kind in ("noun", "verb", "adj", "adv"):
            for line in package.extractfile(f"package/dict/data.{kind}").read().decode("latin1").splitlines():
                if line.startswith("  "):
                    continue
                head, gloss = line.split(" | ", 1)
                fields = head.split()
                words = [fields[4 + 2 * at].replace("_", " ") for at in range(int(fields[3], 16))]
                texts.append(f"{', '.join(words[:3])}: {gloss.strip()}"[:MAX_GLOSS])
                texts.extend(re.findall(r'"([^"]{15,120})"', gloss))
    return texts


def read_operations(path):
    """Name, service and the beginning of the description of each operation, from the newest version of each service."""
    texts = []
    with zipfile.ZipFile(path) as wheel:
        newest = {}
        for name in sorted(wheel.namelist()):
            if name.endswith("/service-2.json.gz"):
                newest[name.split("/")[-3]] = name
        for name in newest.values():
            service = json.loads(gzip.decompress(wheel.read(name)))
            title = service["metadata"].get("serviceFullName", "")
            for operation, about in service["operations"].items():
                plain = html.unescape(re.sub(r"<[^>]+>", " ", about.get("documentation", "")))
                texts.append(re.sub(r"\s+", " ", f"{split_name(operation)}. {title}. {plain}").strip()[:MAX_OPERATION])
    return texts


def sample(texts, count):
    """Picks `count` of the texts, the same in every run."""
    texts = list(dict.fromkeys(texts))
    random.Random(3).shuffle(texts)
    return texts[:count]


def read_texts(wordnet, botocore):
    return sample(read_glosses(wordnet), COUNTS["glosses"]) + sample(read_operations(botocore), COUNTS["operations"])
