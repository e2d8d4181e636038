/** The name of the dataset library, both on PyPI and as a Python package, and the version that jobs get by default. */

export const libraryName = "datachain";

/** The library version with which the documentation and the tests of this Millrace release were checked. */
export const defaultLibrary = "0.62.0";

/**
 * Python code that sets `library` to the version of the dataset library that the interpreter has, or to "" if it has
 * none. The code reads the version from the name of the `.dist-info` folder, because importing the library takes a
 * second. The modules `glob`, `os` and `sys` must be imported first.
 */
export const readInstalledVersion = `
found = [name for path in sys.path for name in glob.glob(os.path.join(path, "${libraryName}-*.dist-info"))]
library = os.path.basename(found[0])[len("${libraryName}-"):-len(".dist-info")] if found else ""
`.trim();
