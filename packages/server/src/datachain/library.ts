/** The library itself: its name on PyPI, which is also that of its Python package, and which version jobs get. */

export const libraryName = "datachain";

/** What the documentation and the tests of this release were tried with. */
export const defaultLibrary = "0.62.0";

/**
 * Lines of Python that set `library` to the version that an interpreter has, or to nothing. They read it from the folder that
 * describes the package, since importing the library takes a second. They need `glob`, `os` and `sys`.
 */
export const readInstalledVersion = `
found = [name for path in sys.path for name in glob.glob(os.path.join(path, "${libraryName}-*.dist-info"))]
library = os.path.basename(found[0])[len("${libraryName}-"):-len(".dist-info")] if found else ""
`.trim();
