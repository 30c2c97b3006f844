{{- define "agentplane.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "agentplane.selector" -}}
app.kubernetes.io/name: agentplane
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "agentplane.labels" -}}
{{ include "agentplane.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: agentplane
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "agentplane.image" -}}
{{ printf "%sagentplane/%s:%s" .root.Values.image.prefix .program (.root.Values.image.tag | default .root.Chart.AppVersion) }}
{{- end }}

{{- define "agentplane.databaseSecret" -}}
{{- if .Values.database.existingSecret -}}
{{ .Values.database.existingSecret }}
{{- else if .Values.trial.postgres.enabled -}}
{{ include "agentplane.fullname" . }}-trial-postgres
{{- else -}}
{{ fail "database.existingSecret is empty: name a Secret with the keys uri and admin-uri of a Postgres, or set trial.postgres.enabled to try the platform" }}
{{- end -}}
{{- end }}

{{- define "agentplane.databaseUri" -}}
- name: AGENTPLANE_DATABASE_URI
  valueFrom:
    secretKeyRef: { name: {{ include "agentplane.databaseSecret" . }}, key: {{ .Values.database.uriKey }} }
{{- end }}

{{- define "agentplane.operatorSecret" -}}
{{ .Values.operatorKey.existingSecret | default (printf "%s-operator-key" (include "agentplane.fullname" .)) }}
{{- end }}

{{- define "agentplane.apiUrl" -}}
http://{{ include "agentplane.fullname" . }}-api.{{ .Release.Namespace }}.svc:{{ .Values.api.service.port }}
{{- end }}

{{/* Restricted by the Pod Security Standards; images bring no user of their own. */}}
{{- define "agentplane.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "agentplane.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* What all pods of the platform's own programs have in common. Arguments: root, component. */}}
{{- define "agentplane.podSpec" -}}
enableServiceLinks: false
securityContext:
  {{- include "agentplane.podSecurity" . | nindent 2 }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 256Mi }
{{- with .root.Values.trustedCa }}
{{- if .existingSecret }}
  - name: trusted-ca
    secret: { secretName: {{ .existingSecret }}, items: [{ key: {{ .key | quote }}, path: ca.crt }] }
{{- end }}
{{- end }}
{{- if eq .component "api" }}
{{- with .root.Values.api.modelPrices }}
{{- if .existingConfigMap }}
  - name: model-prices
    configMap: { name: {{ .existingConfigMap }}, items: [{ key: {{ .key | quote }}, path: model-prices.json }] }
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What a container of the platform's own programs mounts. */}}
{{- define "agentplane.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if .Values.trustedCa.existingSecret }}
- { name: trusted-ca, mountPath: /etc/agentplane/trusted-ca, readOnly: true }
{{- end }}
{{- end }}

{{- define "agentplane.trustedCaEnv" -}}
{{- if .Values.trustedCa.existingSecret }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/agentplane/trusted-ca/ca.crt }
{{- end }}
{{- end }}

{{/* One pod stays on another node or in another zone where there are any. */}}
{{- define "agentplane.spread" -}}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "agentplane.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}

{{- define "agentplane.podMetadata" -}}
labels:
  {{- include "agentplane.labels" . | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  prometheus.io/scrape: 'true'
  prometheus.io/port: '9464'
  prometheus.io/path: /metrics
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "agentplane.commonEnv" -}}
- { name: AGENTPLANE_SYSTEM_NAMESPACE, value: {{ .Release.Namespace }} }
- { name: AGENTPLANE_LOG_LEVEL, value: {{ .Values.logLevel }} }
- { name: AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS, value: {{ .Values.allowPrivateEndpoints | quote }} }
- name: AGENTPLANE_METRICS_HOST
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- { name: AGENTPLANE_METRICS_PORT, value: '9464' }
{{- end }}

{{/* The platform's own object store, for the programs that read or write there. */}}
{{- define "agentplane.storeEnv" -}}
{{- with .Values.attachments -}}
- { name: AGENTPLANE_ATTACHMENT_BUCKET, value: {{ .bucket | quote }} }
{{- with .endpoint }}
- { name: AGENTPLANE_ATTACHMENT_ENDPOINT, value: {{ . | quote }} }
{{- end }}
{{- with .region }}
- { name: AGENTPLANE_ATTACHMENT_REGION, value: {{ . | quote }} }
{{- end }}
{{- if .existingSecret }}
{{- $secret := .existingSecret }}
{{- range $variable, $key := dict "ACCESS_KEY_ID" "access-key-id" "SECRET_ACCESS_KEY" "secret-access-key" }}
- name: AGENTPLANE_ATTACHMENT_{{ $variable }}
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: {{ $key }} } }
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Sealing, the same for the api, which reads sealed days, and the controller, whose workers seal them. */}}
{{- define "agentplane.lakeEnv" -}}
{{- if not .Values.attachments.bucket }}
{{- fail "lake.enabled needs attachments.bucket: payloads of sealed days are stored there" }}
{{- end }}
{{- with .Values.lake -}}
- { name: AGENTPLANE_LAKE, value: {{ ternary "on" "read" .sealing | quote }} }
- { name: AGENTPLANE_LAKE_PREFIX, value: {{ .prefix | quote }} }
- { name: AGENTPLANE_LAKE_QUIET_HOURS, value: {{ .quietHours | int | quote }} }
- { name: AGENTPLANE_LAKE_ERASE_HOURS, value: {{ .eraseHours | int | quote }} }
- { name: AGENTPLANE_LAKE_KEPT_HOURS, value: {{ .keptHours | int | quote }} }
- { name: AGENTPLANE_LAKE_ONLY_WRITER, value: {{ .onlyWriter | quote }} }
{{- end }}
{{- end }}

{{- define "agentplane.placeNamespaces" -}}
{{ .Values.remoteListener.namespaces | default (list .Release.Namespace) | join "," }}
{{- end }}

{{/* What the controller knows of builds from git. */}}
{{- define "agentplane.buildsEnv" -}}
{{- with .Values.builds }}
{{- if .enabled }}
{{- if not .registry }}
{{- fail "builds.registry is empty: name the registry that built images are pushed to, as registry.example.com/team/agents" }}
{{- end }}
- { name: AGENTPLANE_BUILD_REGISTRY, value: {{ .registry | quote }} }
- { name: AGENTPLANE_BUILD_NAMESPACE, value: {{ .namespace | quote }} }
- { name: AGENTPLANE_BUILD_REGISTRY_INSECURE, value: {{ .insecureRegistry | quote }} }
- { name: AGENTPLANE_BUILDS, value: {{ .concurrent | quote }} }
- { name: AGENTPLANE_BUILD_TIMEOUT_MS, value: {{ mul 1000 .timeoutSeconds | quote }} }
- { name: AGENTPLANE_BUILD_MEMORY_MB, value: {{ .memoryMegabytes | int | quote }} }
- { name: AGENTPLANE_BUILD_IMAGE_MB, value: {{ .imageMegabytes | int | quote }} }
{{- $more := dict "PUSH_SECRET" .pushSecret "PULL_SECRET" .pullSecret "REGISTRY_CA" .registryCa "BASE" .base }}
{{- $_ := set $more "PYTHON_BASE" .pythonBase }}
{{- $_ := set $more "NPM_REGISTRY" .npmRegistry }}
{{- $_ := set $more "PYTHON_INDEX" .pythonIndex }}
{{- range $name, $value := $more }}
{{- if $value }}
- { name: AGENTPLANE_BUILD_{{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* egress rules of what may reach names and public addresses: of values with dns and blockedNetworks */}}
{{- define "agentplane.publicEgress" -}}
- ports: [{ port: 53, protocol: UDP }, { port: 53, protocol: TCP }]
  {{- with .dns }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- $blocked := dict "0.0.0.0/0" list "::/0" list }}
{{- range .blockedNetworks }}
{{- $all := ternary "::/0" "0.0.0.0/0" (contains ":" .) }}
{{- $_ := set $blocked $all (append (get $blocked $all) .) }}
{{- end }}
- to:
    {{- range $all, $except := $blocked }}
    - ipBlock: { cidr: {{ $all | quote }}, except: {{ toJson $except }} }
    {{- end }}
{{- end }}

{{- /* egress rule of what reaches the api from another namespace */}}
{{- define "agentplane.apiEgress" -}}
- ports: [{ port: http, protocol: TCP }]
  to:
    - namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ .Release.Namespace }} } }
      podSelector:
        matchLabels:
          {{- include "agentplane.selector" (dict "root" . "component" "api") | nindent 10 }}
{{- end }}

{{- /* what agents reach besides their workspace and the database */}}
{{- define "agentplane.agentEgress" -}}
{{ include "agentplane.publicEgress" .Values.builds }}
{{ include "agentplane.apiEgress" . }}
{{- with .Values.agents.egress }}
{{ toYaml . }}
{{- end }}
{{- end }}
