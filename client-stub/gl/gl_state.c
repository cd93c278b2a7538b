#include "gl/gl_state.h"

static void save_attribute(struct fw_gl_attribute *a, const struct fw_gl_api *gl, unsigned i)
{
    gl->GetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_ENABLED, &a->enabled);
    gl->GetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_SIZE, &a->size);
    gl->GetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_STRIDE, &a->stride);
    gl->GetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_TYPE, &a->type);
    gl->GetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_NORMALIZED, &a->normalized);
    gl->GetVertexAttribiv(i, GL_VERTEX_ATTRIB_ARRAY_BUFFER_BINDING, &a->buffer);
    gl->GetVertexAttribPointerv(i, GL_VERTEX_ATTRIB_ARRAY_POINTER, &a->pointer);
}

static void restore_attribute(const struct fw_gl_attribute *a, const struct fw_gl_api *gl,
                              unsigned i)
{
    gl->BindBuffer(GL_ARRAY_BUFFER, (unsigned)a->buffer);
    gl->VertexAttribPointer(i, a->size, (unsigned)a->type, (unsigned char)a->normalized, a->stride,
                            a->pointer);
    if (a->enabled)
        gl->EnableVertexAttribArray(i);
    else
        gl->DisableVertexAttribArray(i);
}

static void set(const struct fw_gl_api *gl, unsigned what, unsigned char on)
{
    if (on)
        gl->Enable(what);
    else
        gl->Disable(what);
}

void fw_gl_state_save(struct fw_gl_state *s, const struct fw_gl_api *gl)
{
    *s = (struct fw_gl_state){0};
    gl->GetIntegerv(GL_CURRENT_PROGRAM, &s->program);
    gl->GetIntegerv(GL_ARRAY_BUFFER_BINDING, &s->array_buffer);
    gl->GetIntegerv(GL_VIEWPORT, s->viewport);
    gl->GetIntegerv(GL_BLEND_SRC_RGB, &s->source_rgb);
    gl->GetIntegerv(GL_BLEND_SRC_ALPHA, &s->source_alpha);
    gl->GetIntegerv(GL_BLEND_DST_RGB, &s->target_rgb);
    gl->GetIntegerv(GL_BLEND_DST_ALPHA, &s->target_alpha);
    gl->GetIntegerv(GL_BLEND_EQUATION_RGB, &s->equation_rgb);
    gl->GetIntegerv(GL_BLEND_EQUATION_ALPHA, &s->equation_alpha);
    gl->GetBooleanv(GL_COLOR_WRITEMASK, s->mask);
    s->blend = gl->IsEnabled(GL_BLEND);
    s->depth = gl->IsEnabled(GL_DEPTH_TEST);
    s->cull = gl->IsEnabled(GL_CULL_FACE);
    s->stencil = gl->IsEnabled(GL_STENCIL_TEST);
    s->scissor = gl->IsEnabled(GL_SCISSOR_TEST);
    if (gl->vertex_arrays)
        gl->GetIntegerv(GL_VERTEX_ARRAY_BINDING, &s->vertex_array);
    else
        for (unsigned i = 0; i < FW_GL_ATTRIBUTES; i++)
            save_attribute(&s->attribute[i], gl, i);
}

void fw_gl_state_restore(const struct fw_gl_state *s, const struct fw_gl_api *gl)
{
    if (gl->vertex_arrays)
        gl->BindVertexArray((unsigned)s->vertex_array);
    else
        for (unsigned i = 0; i < FW_GL_ATTRIBUTES; i++)
            restore_attribute(&s->attribute[i], gl, i);
    gl->BindBuffer(GL_ARRAY_BUFFER, (unsigned)s->array_buffer);
    gl->UseProgram((unsigned)s->program);
    gl->Viewport(s->viewport[0], s->viewport[1], s->viewport[2], s->viewport[3]);
    gl->BlendFuncSeparate((unsigned)s->source_rgb, (unsigned)s->target_rgb,
                          (unsigned)s->source_alpha, (unsigned)s->target_alpha);
    gl->BlendEquationSeparate((unsigned)s->equation_rgb, (unsigned)s->equation_alpha);
    gl->ColorMask(s->mask[0], s->mask[1], s->mask[2], s->mask[3]);
    set(gl, GL_BLEND, s->blend);
    set(gl, GL_DEPTH_TEST, s->depth);
    set(gl, GL_CULL_FACE, s->cull);
    set(gl, GL_STENCIL_TEST, s->stencil);
    set(gl, GL_SCISSOR_TEST, s->scissor);
}
