/** How the library names the table of a version's rows. */
export interface RowsOf {
  readonly namespace: string;
  readonly project: string;
  readonly name: string;
  readonly version: string;
}

export const rowsTable = ({ namespace, project, name, version }: RowsOf) =>
  `ds_${namespace}_${project}_${name}_${version.replaceAll(".", "_")}`;
