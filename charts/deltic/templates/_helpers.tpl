{{/* The name of the chart. */}}
{{- define "deltic.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The prefix of all names: the name of the release, with that of the chart unless it contains it. */}}
{{- define "deltic.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "deltic.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The labels that select the pods. */}}
{{- define "deltic.selector" -}}
app.kubernetes.io/name: {{ include "deltic.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The labels of all objects. */}}
{{- define "deltic.labels" -}}
{{ include "deltic.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "deltic.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "deltic.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The subject of all bindings. */}}
{{- define "deltic.subjects" -}}
- kind: ServiceAccount
  name: {{ include "deltic.account" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{- define "deltic.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/* The Service through which kube-apiserver reaches the views. */}}
{{- define "deltic.views" -}}
{{ include "deltic.fullname" . }}-views
{{- end -}}

{{/* The name under which the authority of the views' certificate is stored. */}}
{{- define "deltic.secret" -}}
deltic-serving
{{- end -}}

{{- define "deltic.servesViews" -}}
{{- if or .Values.views.serve .Values.views.aggregate -}}yes{{- end -}}
{{- end -}}
