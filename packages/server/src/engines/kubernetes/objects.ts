/** Objects of Kubernetes, with the fields that are read here. */

export interface KubernetesList<T> {
  readonly items: readonly T[];
  readonly metadata?: { readonly continue?: string };
}

/** The answer to a refused request. */
export interface Status {
  readonly reason?: string;
  readonly message?: string;
}

interface Metadata {
  readonly name: string;
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface Job {
  readonly metadata: Metadata;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

interface ContainerStatus {
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: { readonly reason?: string; readonly message?: string; readonly exitCode?: number };
  };
}

export interface Pod {
  readonly metadata: Metadata;
  readonly status?: {
    /** Why the pod failed as a whole, for example because it was evicted. */
    readonly reason?: string;
    readonly message?: string;
    readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export interface KubernetesEvent {
  readonly involvedObject: { readonly kind?: string; readonly name?: string };
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}
