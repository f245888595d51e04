"""The same two jobs on Apache Flink, in one JVM (MiniCluster). Flink's jars come from PyPI, the jobs (bench/flink) are built by
Maven; both are kept in the cache."""
import pathlib
import shutil
import subprocess
import sys
import zlib

SOURCES = pathlib.Path(__file__).resolve().parent / "flink"
FLINK_VERSION = "2.3.0"
HEAP = "2g"
MAIN_CLASS = {"dim": "peer.DimJob", "dws": "peer.DwsJob"}
# What Flink's own start scripts open to its reflection.
OPENED_PACKAGES = (
    "java.lang java.net java.io java.nio sun.nio.ch java.lang.reflect java.text java.time java.util java.util.concurrent "
    "java.util.concurrent.atomic java.util.concurrent.locks").split()


def mode_of(job, wanted):
    """`peek` exists for job DIM only."""
    return "tuned" if job == "dws" and wanted == "peek" else wanted


class Peer:
    def __init__(self, cache):
        sources = sorted(p for p in SOURCES.rglob("*") if p.is_file())
        version = zlib.crc32(b"".join(p.read_bytes() for p in sources))
        self.jobs = cache / f"flink-jobs-{version:08x}"
        self.environment = cache / f"flink-{FLINK_VERSION}"
        self._install()
        self._build()

    def _install(self):
        done = self.environment / "installed"
        if done.exists():
            return
        print(f"installing Flink {FLINK_VERSION} into {self.environment}", file=sys.stderr)
        shutil.rmtree(self.environment, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", self.environment], check=True, stdout=sys.stderr)
        pip = [self.environment / "bin" / "pip", "install", "-q", "--no-deps", "--disable-pip-version-check"]
        subprocess.run(pip + [f"apache-flink-libraries=={FLINK_VERSION}"], check=True, stdout=sys.stderr)
        done.touch()

    def _build(self):
        if self.jobs.exists():
            return
        print(f"building the Flink jobs in {self.jobs}", file=sys.stderr)
        part = self.jobs.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(SOURCES, part)
        maven = ["mvn", "-B", "-q", "-Dstyle.color=never", "-f", part / "pom.xml"]
        subprocess.run(maven + ["package", "dependency:copy-dependencies"], check=True, stdout=sys.stderr)
        part.rename(self.jobs)

    def _class_path(self):
        (lib,) = self.environment.glob("lib/python3*/site-packages/pyflink/lib")
        # The table and SQL jars are left out: they cost start-up time, and the jobs do not use them.
        flink = [j for j in sorted(lib.glob("*.jar")) if not any(part in j.name for part in ("table", "scala", "cep"))]
        libraries = [j for j in sorted((self.jobs / "libs").glob("*.jar")) if "slf4j" not in j.name]
        return ":".join(map(str, [*flink, self.jobs / "target" / "flink-jobs-1.jar", *libraries]))

    def command(self, job, mode, broker, topic, out_topic, parallelism, config, folder):
        """The command line of a bounded run; state, checkpoints and log go to `folder`."""
        opens = [f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in OPENED_PACKAGES]
        exports = ["--add-exports=java.base/sun.net.util=ALL-UNNAMED",
                   "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED"]
        options = {"in": topic, "out": out_topic, "group": out_topic, "brokers": broker, "parallelism": str(parallelism),
                   "mode": mode, "config": str(config), "ckpt-dir": f"file://{folder}/checkpoints", "tmp": str(folder)}
        return ["java", f"-Xmx{HEAP}", f"-Djava.io.tmpdir={folder}", *opens, *exports, f"-Dlog4j.configurationFile=file:{SOURCES}/log4j2.properties",
                f"-Dlog.file={folder}/flink.log", "-cp", self._class_path(), MAIN_CLASS[job],
                *(x for name, value in options.items() for x in ("--" + name, value))]
