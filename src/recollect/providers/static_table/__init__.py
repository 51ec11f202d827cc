"""The files of the static embedding table, which the build copies here from the wheel of wordllama.

They are not in the repository. `hatch_build.py` runs this module by itself, so it imports nothing of the package.
"""

REQUIREMENT = "wordllama==0.4.0.post1"
TABLE = "l2_supercat_256.safetensors"
TOKENIZER = "l2_supercat_tokenizer_config.json"
SHA256 = {
    TABLE: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    TOKENIZER: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}
LICENSE = "LICENSE"
"""The license of wordllama, which covers both files."""
