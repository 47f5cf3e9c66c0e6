"""Recipe for Spack's repository; version and hash are those of the file on PyPI."""

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyTisim(PythonPackage):
    """Predict how long an MPI program takes on a hypothetical machine."""

    homepage = "https://pypi.org/project/tisim"
    pypi = "tisim/tisim-1.0.0.tar.gz"

    license("BSD-3-Clause")

    version("1.0.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant("view", default=True, description="Tables, pictures and the viewer")
    variant("calibrate", default=False, description="Fit platforms to measurements")

    depends_on("cxx", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("cmake@3.20:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-nanobind@2.4:", type="build")
    depends_on("py-setuptools-scm@8:", type="build")
    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-simpy@4.1:", type=("build", "run"))
    with when("+view"):
        depends_on("py-matplotlib@3.8:", type=("build", "run"))
        depends_on("py-networkx@3.1:", type=("build", "run"))
        depends_on("py-pandas@2.1:", type=("build", "run"))
        depends_on("py-pyarrow@14:", type=("build", "run"))
        depends_on("py-scipy@1.11:", type=("build", "run"))
        depends_on("py-starlette@0.37:", type=("build", "run"))
        depends_on("py-uvicorn@0.27:", type=("build", "run"))
    with when("+calibrate"):
        depends_on("py-lxml@5:", type=("build", "run"))
        depends_on("py-matplotlib@3.8:", type=("build", "run"))
        depends_on("py-pandas@2.1:", type=("build", "run"))
        depends_on("py-scipy@1.11:", type=("build", "run"))

    conflicts("%gcc@:10", msg="tisim needs C++20")
