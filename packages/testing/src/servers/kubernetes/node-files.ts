/** Configuration files of a node's programs. */
import type { NodeShell } from "./node-shell.ts";

/** What the files depend on: the folder of the node, its control group, and its network. */
export interface NodePlace {
  readonly folder: string;
  readonly group: string;
  readonly shell: NodeShell;
  readonly cniPlugins: string;
}

/** Kernel settings that kubelet wants to write. The node gets files instead, which change nothing on this machine. */
export const kernelSettings = {
  "vm/overcommit_memory": 1,
  "vm/panic_on_oom": 0,
  "kernel/panic": 10,
  "kernel/panic_on_oops": 1,
  "kernel/keys/root_maxkeys": 1_000_000,
  "kernel/keys/root_maxbytes": 25_000_000,
} as const;

export const kubeletConfiguration = ({ folder, group, shell }: NodePlace) => ({
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  address: shell.address,
  healthzBindAddress: "127.0.0.1",
  readOnlyPort: 0,
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: false },
    x509: { clientCAFile: `${folder}/pki/ca.crt` },
  },
  authorization: { mode: "AlwaysAllow" },
  cgroupDriver: "cgroupfs",
  cgroupRoot: `/${group}`,
  enforceNodeAllocatable: [],
  failCgroupV1: false,
  failSwapOn: false,
  makeIPTablesUtilChains: false,
  containerRuntimeEndpoint: `unix://${folder}/containerd.sock`,
  podLogsDir: `${folder}/pod-logs`,
  evictionHard: { "nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "50Mi" },
});

/** Pods have addresses of their own, which this machine reaches through the node. */
export const podNetwork = ({ folder, shell }: NodePlace) => ({
  cniVersion: "0.4.0",
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: "pods0",
      isGateway: true,
      ipam: {
        type: "host-local",
        dataDir: `${folder}/addresses`,
        ranges: [[{ subnet: `${shell.podNetwork}.0/24` }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
});

export const containerdConfiguration = ({ folder, cniPlugins }: NodePlace) => `
version = 2
root = "${folder}/containerd"
state = "/run/containerd"
[grpc]
address = "${folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "local.test/pause:1"
disable_apparmor = true
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "${cniPlugins}"
conf_dir = "${folder}/cni"
`;
