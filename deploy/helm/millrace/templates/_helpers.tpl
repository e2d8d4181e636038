{{- define "millrace.labels" -}}
app.kubernetes.io/name: millrace
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{/* The host of the public URL, without its port. */}}
{{- define "millrace.host" -}}
{{- $url := required "publicUrl is missing: the URL at which people and the pods of jobs reach the server" .Values.publicUrl -}}
{{- if not (regexMatch "^https?://[^/]+" $url) }}{{ fail "publicUrl must begin with http:// or https://" }}{{ end -}}
{{- (urlParse $url).hostname -}}
{{- end -}}
{{- define "millrace.keySecret" -}}
{{- .Values.secretKey.existingSecret | default (printf "%s-key" .Release.Name) -}}
{{- end -}}
{{- define "millrace.probe" -}}
command:
  - node
  - -e
  - 'fetch("http://127.0.0.1:8484/{{ . }}").then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))'
{{- end -}}
