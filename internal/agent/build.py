"""Build a Python app: python3 -c SCRIPT APP_DIR VENV_DIR."""
import compileall
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import venv

APP, VENV = sys.argv[1:]
PACKAGES = ("flask", "werkzeug", "jinja2", "click", "gunicorn")
# Of the extension; 1000 are some seconds of compiler time.
FUNCTIONS = int(os.environ.get("BUILD_FUNCTIONS", "1000"))


def timed(name, step):
    begin = time.monotonic()
    step()
    print(f"build: {name} took {time.monotonic() - begin:.1f} s", flush=True)


def environment():
    # Without pip: nothing is fetched.
    venv.create(VENV, system_site_packages=True, with_pip=False, symlinks=True)


def packages():
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec and spec.submodule_search_locations:
            source = spec.submodule_search_locations[0]
            shutil.copytree(source, os.path.join(SITE, name), ignore=shutil.ignore_patterns("__pycache__"))


def byte_compile():
    for directory in (SITE, APP):
        if not compileall.compile_dir(directory, quiet=1, force=True):
            sys.exit(f"build: {directory} cannot be byte-compiled")


def extension():
    source = os.path.join(VENV, "brinkext.c")
    with open(source, "w") as f:
        f.write("#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n")
        for i in range(FUNCTIONS):
            f.write(
                f"static long f{i}(long n) {{ long s = {i}, t = n;\n"
                f"  for (long j = 0; j < n; j++) {{ s += (j * {i + 3}) ^ (s >> {i % 13 + 1}); t -= s % {i + 7}; }}\n"
                f"  return s ^ t; }}\n"
            )
        f.write("static PyObject *run(PyObject *self, PyObject *arg) {\n  long n = PyLong_AsLong(arg), s = 0;\n")
        f.write("  if (n == -1 && PyErr_Occurred()) return NULL;\n")
        for i in range(FUNCTIONS):
            f.write(f"  s ^= f{i}(n);\n")
        f.write(
            "  return PyLong_FromLong(s);\n}\n"
            'static PyMethodDef methods[] = {{"run", run, METH_O, ""}, {NULL, NULL, 0, NULL}};\n'
            'static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "brinkext", "", -1, methods};\n'
            "PyMODINIT_FUNC PyInit_brinkext(void) { return PyModule_Create(&module); }\n"
        )
    target = os.path.join(SITE, "brinkext" + sysconfig.get_config_var("EXT_SUFFIX"))
    include = sysconfig.get_paths()["include"]
    command = ["cc", "-O2", "-fPIC", "-shared", "-I", include, source, "-o", target]
    try:
        done = subprocess.run(command)
    except FileNotFoundError:
        sys.exit("build: there is no C compiler (cc)")
    if done.returncode:
        sys.exit(f"build: the C compiler failed; are Python's headers in {include}?")
    subprocess.run([PYTHON, "-c", "import brinkext; brinkext.run(10)"], check=True)


SITE = os.path.join(VENV, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
PYTHON = os.path.join(VENV, "bin", "python")
timed("virtual environment", environment)
timed("packages", packages)
timed("byte-compilation", byte_compile)
timed("extension", extension)
